import { isObject } from '../../protocol/jsonrpc.ts'
import type { Skill, SkillFile } from './skill.ts'

export const manifest = 'SKILL.md'

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
  if (!isPath(folder)) throw new Error(`The folder "${folder}" of a skill must be a path such as "tools/git-help"`)
  const length = lengthOf(description)
  if (description.trim() === '' || length > 1024) {
    throw new Error(`The description of the skill "${folder}" has ${length} characters: use 1 to 1024`)
  }
  for (const [field, accepts, expected] of optionalFields) {
    if (frontmatter[field] !== undefined && !accepts(frontmatter[field])) {
      throw new Error(`"${field}" of the skill "${folder}" must be ${expected}`)
    }
  }
  const paths = new Set<string>()
  let bytes = 0
  for (const file of files) {
    checkFile(folder, file)
    if (paths.has(file.path)) throw new Error(`The skill "${folder}" has the file "${file.path}" twice: remove one`)
    paths.add(file.path)
    bytes += file.size
  }
  if (!paths.has(manifest)) throw new Error(`The skill "${folder}" has no file "SKILL.md": add it`)
  if (files.length > 512 || bytes > 16_777_216) {
    throw new Error(
      `The skill "${folder}" has ${files.length} files with ${bytes} bytes, including those of skills in its folder: use at most 512 files and 16777216 bytes, which every client accepts`,
    )
  }
}

/** Whether a URI with the path leads to the file, and an archive unpacks it into the folder of the skill. */
const isPath = (path: string): boolean =>
  !path.includes('\\') && path.split('/').every((part) => !/^\.{0,2}$/.test(part))

function checkFile(folder: string, file: SkillFile): void {
  const { path, digest, size } = file
  if (!isPath(path)) {
    throw new Error(`The path "${path}" of a file of the skill "${folder}" must be a path such as "references/api.md"`)
  }
  if (path === manifest && !('text' in file)) {
    throw new Error(`The file "${manifest}" of the skill "${folder}" must have text, not base64: save it as UTF-8`)
  }
  const isWhole = Number.isInteger(size) && size >= 0
  const content: unknown = 'text' in file ? file.text : file.base64
  if (!isWhole || !isText(content) || !/^sha256:[\da-f]{64}$/.test(digest)) {
    throw new Error(
      `The file "${path}" of the skill "${folder}" must have its size in bytes, its digest ("sha256:" and 64 hexadecimal digits), and text or base64: let "npx edgemcp skills" write them`,
    )
  }
}
