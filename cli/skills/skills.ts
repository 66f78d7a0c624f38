/** `edgemcp skills`: a folder of skills as a module, parsed once instead of whenever a Worker starts. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import type { Skill } from '../../worker/plugins/skills/skill.ts'
import { CliError } from '../cli-error.ts'
import { checkFree, firstLine, literal, nameFor, writeModule } from '../generated-module.ts'
import { parseSkills } from './parse-skills.ts'

/** @throws CliError when there is no folder to read, a skill is invalid, or something else is where the module should be */
export async function skills(folder: string | undefined, { out }: { out?: string | undefined }): Promise<number> {
  if (folder === undefined) throw new CliError('Name the folder: npx edgemcp skills skills --out src/skills.ts')
  if (out !== undefined) checkFree('skills', out)
  const parsed = parseSkills(readFolder(folder))
  if (parsed.length === 0) {
    throw new CliError(`${folder} has no skill: a skill is a folder in it that has a SKILL.md.`)
  }
  const name = nameFor(out ?? folder)
  const written = moduleOf(parsed, name, out === undefined ? [folder] : [folder, '--out', out])
  if (out === undefined) {
    process.stdout.write(written)
    return 0
  }
  writeModule('skills', out, written)
  const count = parsed.length === 1 ? 'one skill' : `${parsed.length} skills`
  console.log(`Wrote ${out}: ${count}, for server.use(skills(${name})).`)
  return 0
}

/** The files below a folder by their paths. Files and folders whose names begin with a dot are left out. */
function readFolder(folder: string): Map<string, Uint8Array> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new CliError(`${folder} is no folder: name the one that has the folders of the skills.`)
  }
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => !path.split(sep).some((part) => part.startsWith('.')))
    .filter((path) => statSync(join(folder, path)).isFile())
  return new Map(paths.map((path) => [path.split(sep).join('/'), new Uint8Array(readFileSync(join(folder, path)))]))
}

const moduleOf = (parsed: readonly Skill[], name: string, args: readonly string[]): string =>
  [
    firstLine('skills', args),
    "import type { Skill } from 'edgemcp/skills'",
    '',
    `export const ${name}: readonly Skill[] = [`,
    ...parsed.map((skill) => `  ${literal(skill)},`),
    ']',
    '',
  ].join('\n')
