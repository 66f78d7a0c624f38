import * as kind from '../../declarations/option-kinds.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import { uriProblem } from '../../protocol/uri.ts'
import { utf8 } from '../../protocol/utf8.ts'
import type { Skill, SkillFile } from './skill.ts'

export const manifest = 'SKILL.md'

/** Bytes of a skill that every client accepts. */
export const maxBytes = 16_777_216

/** Returns the URI of a file. @param path of its skill and of the file in it */
export const uriOf = (path: string): string => `skill://${path.split('/').map(encodeURIComponent).join('/')}`

/**
 * Validates skills, and returns each with all of its files: those of the skills in its folder belong to it, too.
 *
 * @param owner the function that takes the skills, such as `skills()`
 * @throws Error for what clients may refuse. The message names the skill and the fix
 * @see https://agentskills.io/specification
 * @see https://modelcontextprotocol.io/seps/2640-skills-extension
 */
export function readSkills(owner: string, list: readonly Skill[]): Skill[] {
  const isSkill = (value: Partial<Skill> | null) =>
    isText(value?.folder) &&
    isText(value.frontmatter?.name) &&
    isText(value.frontmatter.description) &&
    Array.isArray(value.files) &&
    value.files.every((file: Partial<SkillFile> | null) => isText(file?.path))
  if (!Array.isArray(list) || !list.every(isSkill)) {
    throw new Error(`${owner} takes the list of skills that "npx edgemcp skills <folder> --out <file.ts>" generates`)
  }
  const filesByFolder = new Map<string, SkillFile[]>()
  for (const { folder } of list) {
    if (filesByFolder.has(folder)) throw new Error(`Two skills have the folder "${folder}": rename one`)
    filesByFolder.set(folder, [])
  }
  for (const { folder, files } of list) {
    const names: readonly string[] = folder.split('/')
    for (let depth = 1; depth <= names.length; depth++) {
      const outer = filesByFolder.get(names.slice(0, depth).join('/'))
      const prefix = names.slice(depth).map((name) => `${name}/`)
      for (const file of files) outer?.push({ ...file, path: prefix.join('') + file.path })
    }
  }
  const complete = list.map((skill) => ({ ...skill, files: filesByFolder.get(skill.folder) ?? [] }))
  for (const skill of complete) checkSkill(skill)
  checkPaths(list)
  return complete
}

const lengthOf = (text: string): number => [...text].length
const isText = (value: unknown): value is string => typeof value === 'string'

const optionalFields: readonly [field: string, accepts: (value: unknown) => boolean, expected: string][] = [
  [
    'compatibility',
    (value) => isText(value) && value.trim() !== '' && lengthOf(value) <= 500,
    'a text of 1 to 500 characters',
  ],
  ['license', isText, 'a text'],
  ['allowed-tools', isText, 'one text, with spaces between the tools'],
  [
    'metadata',
    (value) => isObject(value) && Object.values(value).every(isText),
    'a mapping of texts: put numbers and dates into quotes',
  ],
]

function checkSkill({ folder, frontmatter, files }: Skill): void {
  const { name, description } = frontmatter
  const last = folder.split('/').at(-1)
  if (name !== last) {
    throw new Error(`The skill "${name}" is in the folder "${last}": give the skill and the folder the same name`)
  }
  if (!/^[a-z\d]+(?:-[a-z\d]+)*$/.test(name) || name.length > 64) {
    throw new Error(
      `The name of the skill "${name}" must have 1 to 64 lower-case letters, digits and single hyphens between them, as in "git-help"`,
    )
  }
  const length = lengthOf(description)
  if (description.trim() === '' || length > 1024) {
    throw new Error(`The description of the skill "${folder}" has ${length} characters: use 1 to 1024`)
  }
  for (const [field, accepts, expected] of optionalFields) {
    if (frontmatter[field] !== undefined && !accepts(frontmatter[field])) {
      throw new Error(`"${field}" of the skill "${folder}" must be ${expected}`)
    }
  }
  let bytes = 0
  for (const file of files) {
    checkFile(folder, file)
    bytes += file.size
  }
  if (!files.some(({ path }) => path === manifest))
    throw new Error(`The skill "${folder}" has no file "SKILL.md": add it`)
  if (files.length > 512 || bytes > maxBytes) {
    throw new Error(
      `The skill "${folder}" has ${files.length} files with ${bytes} bytes, including those of skills in its folder: use at most 512 files and 16777216 bytes, which every client accepts`,
    )
  }
}

/**
 * Checks that a URI with the path of a file leads to it, and that every system can store all files side by side: some ignore case, and the
 * form of Unicode.
 *
 * @throws Error that names the path and the fix
 */
function checkPaths(list: readonly Skill[]): void {
  const paths = new Map<string, string>()
  for (const path of list.flatMap(({ folder, files }) => files.map((file) => `${folder}/${file.path}`))) {
    if (/[\p{Cc}\p{Cs}\\:]|^\/|\/(?=\/|$)/u.test(path) || uriProblem(uriOf(path)) !== undefined) {
      throw new Error(
        `The path ${JSON.stringify(path)} of a skill must be names with single slashes between them, without "..", backslashes, colons and control characters, as in "tools/git-help/SKILL.md"`,
      )
    }
    const spelling = path.normalize('NFC').toLowerCase()
    const other = paths.get(spelling)
    if (other !== undefined) {
      throw new Error(`The paths "${other}" and "${path}" of skills are one file on some systems: rename or remove one`)
    }
    paths.set(spelling, path)
  }
  for (const [spelling, path] of paths) {
    for (let end = spelling.indexOf('/'); end !== -1; end = spelling.indexOf('/', end + 1)) {
      const file = paths.get(spelling.slice(0, end))
      if (file !== undefined) throw new Error(`"${file}" is a file, and a folder of "${path}": rename one`)
    }
  }
}

function checkFile(folder: string, file: SkillFile): void {
  const { path, digest, size } = file
  if (path === manifest && !('text' in file)) {
    throw new Error(`The file "${manifest}" of the skill "${folder}" must have text, not base64: save it as UTF-8`)
  }
  if (size !== sizeOf(file) || !/^sha256:[\da-f]{64}$/.test(digest)) {
    throw new Error(
      `The file "${path}" of the skill "${folder}" must have its size in bytes, its digest ("sha256:" and 64 hexadecimal digits), and text or base64: let "npx edgemcp skills" write them`,
    )
  }
}

/** Returns the bytes of a file, without decoding it; `undefined` for contents of another form. */
function sizeOf(file: SkillFile): number | undefined {
  if ('text' in file) return isText(file.text) ? utf8(file.text).length : undefined
  const { base64 } = file
  return kind.base64[0](base64) ? Math.floor((base64.replace(/=+$/, '').length * 3) / 4) : undefined
}
