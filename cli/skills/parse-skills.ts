/** Parses folders of files as skills: frontmatter and digests are computed before a Worker is built. */
import { createHash } from 'node:crypto'
import { manifest, readSkills } from '../../worker/plugins/skills/read-skills.ts'
import type { Skill, SkillFile } from '../../worker/plugins/skills/skill.ts'
import { CliError } from '../cli-error.ts'
import { parseYaml } from '../yaml.ts'

/**
 * @param files by path, with `/` between folders. Every folder with a `SKILL.md` is a skill, and the files below it belong to it
 * @throws CliError that names the file and the fix
 *
 * @see https://modelcontextprotocol.io/seps/2640-skills-extension
 */
export function parseSkills(files: ReadonlyMap<string, Uint8Array>): Skill[] {
  const paths = [...files.keys()].sort()
  const folders = paths
    .filter((path) => path.endsWith(`/${manifest}`))
    .map((path) => path.slice(0, -manifest.length - 1))
    .sort((a, b) => a.length - b.length)
  // A skill can be in the folder of another one: a file belongs to the innermost skill.
  const folderOf = (path: string) => folders.findLast((folder) => path.startsWith(`${folder}/`))
  if (files.has(manifest)) {
    throw new CliError(
      `The folder has a ${manifest}, so it is a skill itself: give the path of the folder that contains it.`,
    )
  }
  const lost = paths.find((path) => folderOf(path) === undefined)
  if (lost !== undefined) {
    throw new CliError(`The file "${lost}" belongs to no skill: move it into a folder that has a ${manifest}.`)
  }
  const parsed = folders.map((folder) => ({
    folder,
    frontmatter: frontmatterOf(`${folder}/${manifest}`, files),
    files: [...files]
      .filter(([path]) => folderOf(path) === folder)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([path, bytes]) => fileOf(path.slice(folder.length + 1), bytes)),
  }))
  try {
    readSkills('skills()', parsed)
  } catch (error) {
    throw new CliError(`${(error as Error).message}.`)
  }
  return parsed
}

function fileOf(path: string, bytes: Uint8Array): SkillFile {
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  const text = textOf(bytes)
  const content = text === undefined ? { base64: Buffer.from(bytes).toString('base64') } : { text }
  return { path, digest, size: bytes.byteLength, ...content }
}

/** `undefined` for bytes that are not UTF-8 text, or that the text would not reproduce. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

function frontmatterOf(path: string, files: ReadonlyMap<string, Uint8Array>): Skill['frontmatter'] {
  const text = textOf(files.get(path) ?? new Uint8Array())
  if (text === undefined) {
    throw new CliError(`The file "${path}" is not UTF-8 text: save it as UTF-8, without NUL characters.`)
  }
  const [, yaml] = /^\ufeff?---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text) ?? []
  const { name, description, ...others } = yaml === undefined ? {} : parseFrontmatter(path, yaml)
  if (typeof name !== 'string' || typeof description !== 'string') {
    throw new CliError(
      `The file "${path}" must start with frontmatter between two lines of ---, with a name and a description.`,
    )
  }
  return { name, description, ...others }
}

function parseFrontmatter(path: string, yaml: string): Record<string, unknown> {
  let parsed: unknown
  try {
    parsed = parseYaml(yaml, { exact: true })
  } catch (error) {
    throw new CliError(`The frontmatter of "${path}" is invalid: ${(error as Error).message.trim()}`)
  }
  return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {}
}
