import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Skill } from '../../worker/plugins/skills/index.ts'
import { runHere } from './run-here.ts'

const root = resolve(import.meta.dirname, '../..')
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'edgemcp-skills-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const edgemcp = (...args: string[]) => runHere(['skills', ...args], folder)

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), content)
}

const manifest = (name: string) => `---\nname: ${name}\ndescription: What ${name} is\n---\n\nRead me.\n`

/** The skills that a written module exports as `mySkills`. */
const load = async (path: string): Promise<readonly Skill[]> =>
  (await import(/* @vite-ignore */ pathToFileURL(join(folder, path)).href)).mySkills

test.each([
  ['test/extensions', 'generated/kitchen.ts'],
  ['examples/conformance', 'git-skills.ts'],
])('the command writes the module of %s', async (from, module) => {
  cpSync(join(root, from, 'skills'), join(folder, 'skills'), { recursive: true })
  const { code, stdout } = await edgemcp('skills', '--out', module)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Wrote \S+: (one skill|3 skills), for server\.use\(skills\(\w+\)\)\.\n$/)
  expect(readFileSync(join(folder, module), 'utf8')).toBe(readFileSync(join(root, from, module), 'utf8'))
})

test('text files become strings and other files base64, and both decode to the same bytes', async () => {
  const files = {
    'bom.txt': '\ufeffbegins with a byte order mark',
    'empty.txt': '',
    'nul.bin': 'a\0b',
    'invalid.bin': new Uint8Array([0xff, 0xfe, 0x41]),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text has what a template literal would evaluate
    'deep/lines.md': 'one\r\ntwo\u2028three `${x}` </script>',
  }
  write('skills/a/SKILL.md', manifest('a'))
  for (const [path, content] of Object.entries(files)) write(`skills/a/${path}`, content)
  expect(await edgemcp('skills', '--out', 'my-skills.ts')).toMatchObject({ code: 0, stderr: '' })
  const [skill] = await load('my-skills.ts')
  expect(skill?.files.map(({ path }) => path)).toEqual(['SKILL.md', ...Object.keys(files).sort()])
  for (const file of skill?.files ?? []) {
    const bytes = 'text' in file ? Buffer.from(file.text) : Buffer.from(file.base64, 'base64')
    expect([...bytes]).toEqual([...readFileSync(join(folder, 'skills/a', file.path))])
    expect(file.size).toBe(bytes.length)
  }
  expect(skill?.files.filter((file) => 'base64' in file).map(({ path }) => path)).toEqual(['invalid.bin', 'nul.bin'])
})

test('a file belongs to the innermost skill, and hidden files to no skill', async () => {
  write('skills/a/SKILL.md', manifest('a'))
  write('skills/a/b/SKILL.md', manifest('b'))
  write('skills/a/b/more.md', 'More')
  write('skills/.DS_Store', 'x')
  write('skills/a/.git/config', 'x')
  await edgemcp('skills', '--out', 'my-skills.ts')
  const files = (await load('my-skills.ts')).map((skill) => [skill.folder, skill.files.map(({ path }) => path)])
  expect(files).toEqual([
    ['a', ['SKILL.md']],
    ['a/b', ['SKILL.md', 'more.md']],
  ])
})

test('the command prints the module without --out', async () => {
  write('skills/a/SKILL.md', manifest('a'))
  const { code, stdout } = await edgemcp('skills')
  expect(code).toBe(0)
  expect(stdout).toContain('export const mySkills: readonly Skill[] = [')
})

test.each<[string, Record<string, string | Uint8Array>, string[], string]>([
  ['no folder', {}, [], 'Give the path of a folder: npx edgemcp skills skills --out src/my-skills.ts'],
  [
    'a folder that is not there',
    {},
    ['none'],
    'none is not a folder: give the path of the folder that contains the skill folders.',
  ],
  [
    'a folder without skills',
    { 'skills/.keep': '' },
    ['skills'],
    'skills has no skills: put each skill into a folder with a SKILL.md.',
  ],
  [
    'a file outside of every skill',
    { 'skills/lost.md': 'x' },
    ['skills'],
    'The file "lost.md" belongs to no skill: move it into a folder that has a SKILL.md.',
  ],
  ...[
    Buffer.concat([Buffer.from('---\nname: a\ndescription: Caf'), Buffer.from([0xe9]), Buffer.from('\n---\n')]),
    Buffer.from(`\ufeff${manifest('a')}`, 'utf16le'),
    `${manifest('a')}\0`,
  ].map((content): [string, Record<string, string | Uint8Array>, string[], string] => [
    'a manifest that is not UTF-8 text',
    { 'skills/a/SKILL.md': content },
    ['skills'],
    'The file "a/SKILL.md" is not UTF-8 text: save it as UTF-8, without NUL characters.',
  ]),
  [
    'a skill instead of its folder',
    { 'git-help/SKILL.md': manifest('git-help'), 'git-help/README.md': 'x' },
    ['git-help'],
    'The folder has a SKILL.md, so it is a skill itself: give the path of the folder that contains it.',
  ],
  [
    'a manifest without frontmatter',
    { 'skills/a/SKILL.md': '# A' },
    ['skills'],
    'The file "a/SKILL.md" must start with frontmatter between two lines of ---, with a name and a description.',
  ],
  [
    'a manifest without a description',
    { 'skills/a/SKILL.md': '---\nname: a\n---\n' },
    ['skills'],
    'The file "a/SKILL.md" must start with frontmatter between two lines of ---, with a name and a description.',
  ],
  [
    'frontmatter that is a list',
    { 'skills/a/SKILL.md': '---\n- name\n---\n' },
    ['skills'],
    'The file "a/SKILL.md" must start with frontmatter between two lines of ---, with a name and a description.',
  ],
  [
    'another name than the folder has',
    { 'skills/a/SKILL.md': '---\nname: b\ndescription: B\n---\n' },
    ['skills'],
    'The skill "b" is in the folder "a": give the skill and the folder the same name.',
  ],
  [
    'a name with capital letters',
    { 'skills/A/SKILL.md': manifest('A') },
    ['skills'],
    'The name of the skill "A" must have 1 to 64 lower-case letters, digits and single hyphens between them, as in "git-help".',
  ],
  [
    'an empty description',
    { 'skills/a/SKILL.md': '---\nname: a\ndescription: ""\n---\n' },
    ['skills'],
    'The description of the skill "a" has 0 characters: use 1 to 1024.',
  ],
  [
    'more bytes than clients accept',
    { 'skills/a/SKILL.md': manifest('a'), 'skills/a/b.txt': 'b'.repeat(16_777_216) },
    ['skills'],
    'The skill "a" has 2 files with 16777265 bytes, including those of skills in its folder: use at most 512 files and 16777216 bytes, which every client accepts.',
  ],
  [
    'a module that was not generated',
    { 'skills/a/SKILL.md': manifest('a'), 'mine.ts': 'export {}' },
    ['skills', '--out', 'mine.ts'],
    'mine.ts was not generated by this command: choose another file, or remove this one first.',
  ],
])('%s is refused', async (_, files, args, message) => {
  for (const [path, content] of Object.entries(files)) write(path, content)
  expect(await edgemcp(...args)).toEqual({ code: 1, stdout: '', stderr: message })
})

test('a large file is refused before it is read', async () => {
  write('skills/a/SKILL.md', manifest('a'))
  write('skills/a/large.bin', '')
  truncateSync(join(folder, 'skills/a/large.bin'), 2 ** 32)
  expect(await edgemcp('skills')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      '"skills/a/large.bin" has 4294967296 bytes: clients accept at most 16777216 bytes of a skill. Remove the file.',
  })
})

test('frontmatter that is not YAML is an error with its place', async () => {
  write('skills/a/SKILL.md', '---\nname: "a\n---\n')
  const { code, stderr } = await edgemcp('skills')
  expect(code).toBe(1)
  expect(stderr).toMatch(/^The frontmatter of "a\/SKILL\.md" is invalid: .+ at line 1/)
})

test('frontmatter with a circular value is an error with the file name', async () => {
  write('skills/a/SKILL.md', '---\nname: a\ndescription: A\nx: &x [*x]\n---\n')
  expect(await edgemcp('skills')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'The frontmatter of "a/SKILL.md" is invalid: a value contains itself through an alias, or is nested too deeply for JSON',
  })
})

test.each(['.inf', '.nan', '1e400', '!!binary aGk=', '!!set {a, b}', '12345678901234567890', '[.inf]'])(
  'frontmatter with the value %s, which JSON would change, is refused',
  async (value) => {
    write('skills/a/SKILL.md', `---\nname: a\ndescription: A\nlevels: {x: ${value}}\n---\n`)
    const key = value.startsWith('[') ? 0 : 'x'
    expect(await edgemcp('skills')).toEqual({
      code: 1,
      stdout: '',
      stderr: `The frontmatter of "a/SKILL.md" is invalid: the value of "${key}" would change in JSON: write it as a text in quotes`,
    })
  },
)

test('frontmatter with a tag that YAML does not have is refused', async () => {
  write('skills/a/SKILL.md', '---\nname: a\ndescription: !env TEXT\n---\n')
  const { code, stderr } = await edgemcp('skills')
  expect(code).toBe(1)
  expect(stderr).toMatch(/^The frontmatter of "a\/SKILL\.md" is invalid: Unresolved tag: !env at line 2/)
})

test.each(['skills.ts', 'src/skills.mts'])('the constant of %s is not named skills', async (out) => {
  write('skills/a/SKILL.md', manifest('a'))
  const { stdout } = await edgemcp('skills', '--out', out)
  expect(stdout).toBe(`Wrote ${out}: one skill, for server.use(skills(mySkills)).\n`)
  expect(readFileSync(join(folder, out), 'utf8')).toContain('export const mySkills: readonly Skill[]')
})

describe('symbolic links', () => {
  const link = (to: string, path: string) => symlinkSync(to, join(folder, path))

  beforeEach(() => write('skills/a/SKILL.md', manifest('a')))

  test('to shared files and folders outside the skills are followed', async () => {
    write('shared/guide.md', 'Guide')
    write('shared/more/one.md', 'One')
    link('../../shared/guide.md', 'skills/a/guide.md')
    link('../../shared/more', 'skills/a/more')
    link('../../shared/more', 'skills/a/same')
    expect(await edgemcp('skills', '--out', 'my-skills.ts')).toMatchObject({ code: 0, stderr: '' })
    const [skill] = await load('my-skills.ts')
    expect(skill?.files.map(({ path }) => path)).toEqual(['SKILL.md', 'guide.md', 'more/one.md', 'same/one.md'])
  })

  test.each([
    [
      'nothing',
      '/nonexistent',
      '"skills/a/link" is a symbolic link to "/nonexistent", which does not exist: correct or remove the link.',
    ],
    ['itself', 'link', '"skills/a/link" is a symbolic link that leads to itself: correct or remove the link.'],
    [
      'its own folder',
      '.',
      '"skills/a/link" is a symbolic link to a folder that contains the link: correct or remove the link.',
    ],
    [
      'a folder above the skills',
      '../../..',
      '"skills/a/link" is a symbolic link to a folder that contains the link: correct or remove the link.',
    ],
  ])('to %s are refused', async (_, to, stderr) => {
    link(to, 'skills/a/link')
    expect(await edgemcp('skills')).toEqual({ code: 1, stdout: '', stderr })
  })

  test('between two folders that link to each other are refused', async () => {
    write('skills/b/SKILL.md', manifest('b'))
    link('../b', 'skills/a/b')
    link('../a', 'skills/b/a')
    expect(await edgemcp('skills')).toEqual({
      code: 1,
      stdout: '',
      stderr: '"skills/a/b/a" is a symbolic link to a folder that contains the link: correct or remove the link.',
    })
  })
})

test.runIf(process.platform === 'linux')('a name that is not UTF-8 is refused', async () => {
  write('skills/a/SKILL.md', manifest('a'))
  writeFileSync(Buffer.concat([Buffer.from(join(folder, 'skills/a/caf')), Buffer.from([0xe9, 0x2e, 0x6d, 0x64])]), 'x')
  expect(await edgemcp('skills')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'The name "skills/a/caf\\xe9.md" is not UTF-8: rename the file.',
  })
})

describe('--out inside the folder of the skills is refused', () => {
  const refused = (out: string, path: string) => ({
    code: 1,
    stdout: '',
    stderr:
      `--out ${out}: ${path} is among the skills that the command reads, and the next run would read it: ` +
      'choose another file, as in --out src/my-skills.ts.',
  })
  const link = (to: string, path: string) => symlinkSync(to, join(folder, path))

  beforeEach(() => write('skills/a/SKILL.md', manifest('a')))

  test.each([
    'skills/m.ts',
    'skills/a/m.ts',
    'skills/a/new/folder/m.ts',
    'skills/.hidden/m.ts',
    './skills/../skills/a/m.ts',
  ])('is refused: %s', async (out) => {
    const before = readdirSync(folder, { recursive: true })
    expect(await edgemcp('skills', '--out', out)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^--out .* and the next run would read it: choose another file/),
    })
    expect(readdirSync(folder, { recursive: true })).toEqual(before)
  })

  test('is refused through a link to the folder', async () => {
    link('skills/a', 'out')
    expect(await edgemcp('skills', '--out', 'out/m.ts')).toEqual(refused('out/m.ts', 'skills/a/m.ts'))
  })

  test('is refused through a link to a file that does not exist yet', async () => {
    link('skills/a/m.ts', 'm.ts')
    expect(await edgemcp('skills', '--out', 'm.ts')).toEqual(refused('m.ts', 'skills/a/m.ts'))
  })

  test('is refused when the folder is given as a link', async () => {
    link('skills', 'linked')
    expect(await edgemcp('linked', '--out', 'skills/a/m.ts')).toEqual(refused('skills/a/m.ts', 'skills/a/m.ts'))
  })

  test('is refused when a link in a skill leads to the folder of the module, or to the module', async () => {
    write('src/index.ts', 'export {}')
    link('../../src', 'skills/a/sources')
    expect(await edgemcp('skills', '--out', 'src/m.ts')).toEqual(refused('src/m.ts', 'src/m.ts'))
    rmSync(join(folder, 'skills/a/sources'))
    expect(await edgemcp('skills', '--out', 'src/m.ts')).toMatchObject({ code: 0 })
    link('../../src/m.ts', 'skills/a/module.ts')
    expect(await edgemcp('skills', '--out', 'src/m.ts')).toEqual(refused('src/m.ts', 'src/m.ts'))
  })

  test('is accepted in a folder whose name begins with the name of the skills folder', async () => {
    expect(await edgemcp('skills', '--out', 'skills-module/m.ts')).toMatchObject({ code: 0, stderr: '' })
    expect(await edgemcp('skills', '--out', 'skills-module/m.ts')).toMatchObject({ code: 0, stderr: '' })
  })
})
