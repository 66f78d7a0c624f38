/** Errors of the file system, in all commands: one line that names the file and says what to do, without a stack trace. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runHere } from './run-here.ts'

let folder: string

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'edgemcp-files-')))
  const paths = { '/pets': { get: { operationId: 'pets' } } }
  writeFileSync(join(folder, 'pets.json'), JSON.stringify({ openapi: '3.1.0', paths }))
  mkdirSync(join(folder, 'skills/a'), { recursive: true })
  writeFileSync(join(folder, 'skills/a/SKILL.md'), '---\nname: a\ndescription: A\n---\n')
  symlinkSync('loop', join(folder, 'loop'))
  symlinkSync('nowhere/file', join(folder, 'dangling.ts'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const edgemcp = (...args: string[]) => runHere(args, folder)

const long = 'n'.repeat(256)
const noSuchFile = 'it does not exist (ENOENT). Check the path and its symbolic links.'
const inLoop = 'its symbolic links form a loop (ELOOP). Correct or remove the links.'
const notAFolder = 'a part of the path is a file, not a folder (ENOTDIR). Choose another path.'
const isTooLong = 'a name in the path is too long (ENAMETOOLONG). Choose a shorter one.'

test.each<[command: string, stderr: string]>([
  ['skills skills --out dangling.ts', `Cannot write "dangling.ts": ${noSuchFile}`],
  ['skills skills --out pets.json/x.ts', `Cannot write "pets.json/x.ts": ${notAFolder}`],
  [`skills skills --out ${long}.ts`, `Cannot write "${long}.ts": ${isTooLong}`],
  ['skills skills --out loop/x.ts', `Cannot write "loop/x.ts": ${inLoop}`],
  ['skills loop', `Cannot read "loop": ${inLoop}`],
  ['skills pets.json/x', 'pets.json/x is not a folder: give the path of the folder that contains the skill folders.'],
  ['openapi pets.json --out dangling.ts', `Cannot write "dangling.ts": ${noSuchFile}`],
  ['openapi pets.json --out pets.json/x.ts', `Cannot write "pets.json/x.ts": ${notAFolder}`],
  ['openapi loop', `Cannot read "loop": ${inLoop}`],
  ['openapi pets.json/x', `Cannot read "pets.json/x": ${notAFolder}`],
  [`init ${long} --yes`, `Cannot create the folder "${long}": ${isTooLong}`],
  ['init loop --yes', `Cannot create the folder "loop": ${inLoop}`],
  ['doctor pets.json', 'pets.json is a file: give the folder of the project.'],
])('edgemcp %s', async (command, stderr) => {
  expect(await edgemcp(...command.split(' '))).toEqual({ code: 1, stdout: '', stderr })
})

test.runIf(process.platform === 'linux').each([
  ['skills', 'skills'],
  ['openapi', 'pets.json'],
])('%s reports a file system that does not create files', async (command, input) => {
  expect(await edgemcp(command, input, '--out', '/proc/x.ts')).toEqual({
    code: 1,
    stdout: '',
    stderr: `Cannot write "/proc/x.ts": ${noSuchFile}`,
  })
})
