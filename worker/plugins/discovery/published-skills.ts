/**
 * The skills that everyone may read, as files over HTTP.
 *
 * @see https://github.com/cloudflare/agent-skills-discovery-rfc
 */
import type { Caller } from '../../declarations/caller.ts'
import type { Declarations } from '../../declarations/declarations.ts'
import type { FixedResource } from '../../declarations/resource.ts'
import { callerOf } from '../../engine/caller.ts'
import { isPermitted, isVisible } from '../../engine/methods/lists.ts'
import { utf8 } from '../../protocol/utf8.ts'
import { zip } from './zip.ts'

export const skillsFolder = '/.well-known/agent-skills'

/** A skill, and the resources that are its files. */
export type PublishedSkill = {
  readonly name: string
  readonly description: string
  /** Path of what clients download: the `SKILL.md`, or an archive if the skill has other files. */
  readonly path: string
  readonly files: readonly { readonly path: string; readonly resource: FixedResource }[]
}

/** What clients download. */
export type Artifact = { readonly type: string; readonly body: Uint8Array<ArrayBuffer>; readonly digest: string }

/**
 * Returns the skills that `skills()` declares, whoever may read them. Without those whose names the index cannot have.
 *
 * @throws Error for two skills of one name: the index has no folders
 */
export function declaredSkills({ resources, extensions }: Declarations): readonly PublishedSkill[] {
  if (!extensions?.['io.modelcontextprotocol/skills']) return []
  const paths = [...resources].flatMap(([uri, resource]) => {
    const path = pathOf(uri)
    return path === undefined ? [] : [{ path, resource }]
  })
  const folders = paths.flatMap(({ path }) => (path.endsWith('/SKILL.md') ? path.slice(0, -'SKILL.md'.length) : []))
  const skills = folders.flatMap((folder): PublishedSkill[] => {
    const name = folder.split('/').at(-2) ?? ''
    if (!/^[a-z\d]+(?:-[a-z\d]+)*$/.test(name) || name.length > 64) return []
    // A file belongs to the innermost skill.
    const inner = folders.filter((other) => other !== folder && other.startsWith(folder))
    const files = paths
      .filter(({ path }) => path.startsWith(folder) && !inner.some((other) => path.startsWith(other)))
      .map(({ path, resource }) => ({ path: path.slice(folder.length), resource }))
    const description = resources.get(uriOf(`${folder}SKILL.md`))?.item.description ?? name
    const path = files.length === 1 ? `${skillsFolder}/${name}/SKILL.md` : `${skillsFolder}/${name}.zip`
    return [{ name, description, path, files }]
  })
  const names = skills.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice === undefined) return skills
  throw new Error(`discovery() publishes skills by name, and two have the name "${twice}": rename one`)
}

/** Returns the path of a file in an archive. `undefined` for other URIs, and for a path that leaves its folder. */
function pathOf(uri: string): string | undefined {
  if (!uri.startsWith('skill://')) return undefined
  let path: string
  try {
    path = decodeURIComponent(uri.slice('skill://'.length))
  } catch {
    return undefined
  }
  return path.split('/').some((part) => /^\.{0,2}$|\\/.test(part)) ? undefined : path
}

const uriOf = (path: string): string => `skill://${path.split('/').map(encodeURIComponent).join('/')}`

const anonymous: Caller = callerOf({
  principal: undefined,
  client: undefined,
  capabilities: {},
  request: undefined,
  protocolVersion: undefined,
})

/** Whether a skill has neither scopes nor `visibleTo`. */
export const isOpenToAll = ({ files }: PublishedSkill): boolean =>
  files.every(({ resource }) => !resource.scopes && !resource.visibleTo)

/** Whether everyone may read all files of a skill. Rejects with what `visibleTo` throws. */
export async function isReadableByAll({ files }: PublishedSkill): Promise<boolean> {
  const readable = files.map(
    async ({ resource }) => isPermitted(resource, anonymous) && (await isVisible(resource, { caller: anonymous })),
  )
  return (await Promise.all(readable)).every(Boolean)
}

const artifacts = new WeakMap<PublishedSkill, Artifact>()

/** Returns what clients download of a skill, which is made once. @throws Error for a file that is neither text nor bytes */
export async function artifactOf(skill: PublishedSkill): Promise<Artifact> {
  const artifact = artifacts.get(skill) ?? (await makeArtifact(skill))
  artifacts.set(skill, artifact)
  return artifact
}

async function makeArtifact({ name, files }: PublishedSkill): Promise<Artifact> {
  const read = await Promise.all(
    files.map(async ({ path, resource }) => ({ path, bytes: await bytesOf(resource, name) })),
  )
  const [only, ...others] = read
  const isFile = only !== undefined && others.length === 0
  const body = isFile ? only.bytes : zip(read)
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', body))
  const hex = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return { type: isFile ? 'text/markdown; charset=utf-8' : 'application/zip', body, digest: `sha256:${hex}` }
}

async function bytesOf({ item, handler }: FixedResource, name: string): Promise<Uint8Array<ArrayBuffer>> {
  // Files of `skills()` are the same for every caller: their handlers read no context.
  const content: unknown = await handler({}, Object.create(null))
  if (typeof content === 'string') return new Uint8Array(utf8(content))
  if (content instanceof Uint8Array) return new Uint8Array(content)
  throw new Error(`${item.uri} of the skill "${name}" is neither a text nor bytes, so discovery() cannot publish it`)
}
