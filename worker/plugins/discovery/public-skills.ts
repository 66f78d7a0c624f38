/**
 * The skills that the developer publishes for everyone: an index, and one file for each skill.
 *
 * @see https://github.com/cloudflare/agent-skills-discovery-rfc
 */
import { decodeBase64 } from '../../protocol/base64.ts'
import { hex } from '../../protocol/hex.ts'
import { utf8 } from '../../protocol/utf8.ts'
import { manifest, readSkills } from '../skills/read-skills.ts'
import type { Skill, SkillFile } from '../skills/skill.ts'
import { type Bytes, type PublicDocument, publicDocument } from './document-response.ts'
import { zip } from './zip.ts'

const folder = '/.well-known/agent-skills'
export const skillsIndexPath = `${folder}/index.json`

/**
 * Returns the functions that create the index and the files, by path. Each creates its document for the first request of the isolate.
 *
 * @throws Error for skills that clients may refuse, and for two with one name. The message names the fix
 */
export function publicSkills(
  list: readonly Skill[],
): (readonly [path: string, create: () => Promise<PublicDocument>])[] {
  const skills = readSkills('discovery()', list)
  const names = new Set<string>()
  const entries = skills.map(({ frontmatter: { name, description }, files }) => {
    if (names.has(name)) {
      throw new Error(`Two skills of discovery() have the name "${name}": rename one, or publish one of them`)
    }
    names.add(name)
    const only = files.length === 1 ? files[0] : undefined
    return {
      name,
      type: only ? 'skill-md' : 'archive',
      description,
      url: only ? `${folder}/${name}/${manifest}` : `${folder}/${name}.zip`,
      create: once(() =>
        only
          ? publicDocument('text/markdown; charset=utf-8', bytesOf(only))
          : publicDocument('application/zip', zip(files.map((file) => [file.path, bytesOf(file)]))),
      ),
    }
  })
  const index = once(async () => {
    const described = entries.map(async ({ create, ...entry }) => {
      return { ...entry, digest: `sha256:${hex((await create()).digest)}` }
    })
    const $schema = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'
    return publicDocument('application/json', JSON.stringify({ $schema, skills: await Promise.all(described) }))
  })
  return [[skillsIndexPath, index], ...entries.map(({ url, create }) => [url, create] as const)]
}

const bytesOf = (file: SkillFile): Bytes => ('text' in file ? utf8(file.text) : decodeBase64(file.base64))

/** Keeps the document, not its promise: in a Worker, a promise of a request that was cancelled may never settle. */
function once(create: () => Promise<PublicDocument>): () => Promise<PublicDocument> {
  let created: PublicDocument | undefined
  return async () => {
    created ??= await create()
    return created
  }
}
