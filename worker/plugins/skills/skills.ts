import { checkOptions } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Module } from '../../declarations/server.ts'
import { extension } from '../../engine/extension.ts'
import { uncached } from '../../engine/methods/lists.ts'
import { readText } from '../../engine/methods/method.ts'
import { decodeBase64 } from '../../protocol/base64.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Caching, Params, ResourceItem } from '../../protocol/types.ts'
import { manifest, readSkills, uriOf } from './read-skills.ts'
import type { Skill, SkillFile } from './skill.ts'

/** Configures `skills()`. */
export type SkillsOptions = {
  /**
   * How long clients may cache lists of skills: `ttlMs` milliseconds, for one user (`private`) or for all (`public`). With `scopes`, always
   * `private`. Default: no caching.
   */
  caching?: Caching
  /** Scopes that a token needs to list and read the skills; `[]` admits every caller that `auth` accepts. Default: none. */
  scopes?: readonly string[]
}

const directory = 'inode/directory'
/** Media types by file extension. A `Map`, because an object inherits members: a file may be named `constructor`. */
const types: ReadonlyMap<string, string> = new Map([
  ['md', 'text/markdown'],
  ['txt', 'text/plain'],
  ['json', 'application/json'],
  ['html', 'text/html'],
  ['css', 'text/css'],
  ['js', 'text/javascript'],
  ['csv', 'text/csv'],
  ['svg', 'image/svg+xml'],
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['pdf', 'application/pdf'],
])

/**
 * Adds skills to a server, as a module for `server.use`: folders of instructions that clients load for their models on demand. An empty list
 * adds nothing.
 *
 * @param list the skills that `npx edgemcp skills` writes
 * @throws Error for a value that is not a skill, a skill that does not conform to the Agent Skills specification or exceeds what clients
 * accept, and two skills with one folder. The message names the fix
 * @see https://modelcontextprotocol.io/seps/2640-skills-extension
 *
 * @example
 * declare const mySkills: readonly Skill[] // of the module that `npx edgemcp skills` writes
 * server.use(skills(mySkills))
 */
export function skills(list: readonly Skill[], options: SkillsOptions = {}): Module {
  checkOptions('skills()', options, { caching: kind.caching, scopes: kind.scopes })
  const entries = readSkills('skills()', list).map(({ folder, frontmatter, files }) => ({
    uri: uriOf(`${folder}/${manifest}`),
    frontmatter,
    resources: files.map(({ path, digest, size }) => ({ uri: uriOf(`${folder}/${path}`), digest, size })),
  }))
  const entryByUri = new Map(entries.map((entry) => [entry.uri, entry]))
  const resources = list.flatMap((skill) => skill.files.map((file) => ({ file, item: itemOf(skill, file) })))
  const children = childrenByFolder(resources.map(({ item }) => item))
  const { caching: { ttlMs, cacheScope } = uncached, scopes } = options
  const caching: Caching = { ttlMs, cacheScope: scopes ? 'private' : cacheScope }

  return (server) => {
    // Without a resource, the server would lack the capability that the extension needs.
    if (list.length === 0) return
    for (const { file, item } of resources) {
      const { uri, ...definition } = item
      server.resource(uri, { ...definition, ...(scopes && { scopes }) }, () =>
        'text' in file ? file.text : decodeBase64(file.base64),
      )
    }
    server.use(
      extension('io.modelcontextprotocol/skills', {
        settings: { directoryRead: true },
        ...(scopes && { scopes }),
        methods: {
          'skills/list': (params) => {
            refuseCursor(params)
            return { skills: entries, ...caching }
          },
          'skills/get': (params) => {
            const uri = readText(params, 'uri')
            const skill = entryByUri.get(uri)
            if (!skill) throw new McpError('invalid_params', `Unknown skill: ${uri}`)
            return { skill, ...caching }
          },
          'resources/directory/read': (params) => {
            refuseCursor(params)
            const uri = readText(params, 'uri')
            const items = children.get(uri)
            if (!items) throw new McpError('invalid_params', `Not a directory: ${uri}`)
            return { resources: items }
          },
        },
      }),
    )
  }
}

/** Refuses every cursor: all lists have one page. */
function refuseCursor({ cursor }: Params): void {
  if (cursor !== undefined) throw new McpError('invalid_params', 'Invalid cursor: list again from the first page')
}

function itemOf({ folder, frontmatter }: Skill, file: SkillFile): ResourceItem {
  const isManifest = file.path === manifest
  return {
    uri: uriOf(`${folder}/${file.path}`),
    name: isManifest ? frontmatter.name : (file.path.split('/').at(-1) ?? file.path),
    description: isManifest ? frontmatter.description : `Belongs to the skill ${frontmatter.name}`,
    mimeType: typeOf(file),
    size: file.size,
  }
}

/** Returns the direct children of each folder, by its URI. */
function childrenByFolder(files: readonly ResourceItem[]): ReadonlyMap<string, readonly ResourceItem[]> {
  const children = new Map<string, ResourceItem[]>()
  for (const file of [...files].sort((a, b) => (a.uri < b.uri ? -1 : 1))) {
    let child = file
    for (let folder = folderOf(child.uri); folder !== root; folder = folderOf(folder)) {
      const siblings = children.get(folder)
      if (siblings) {
        siblings.push(child)
        break
      }
      children.set(folder, [child])
      child = { uri: folder, name: decodeURIComponent(folder.split('/').at(-1) ?? ''), mimeType: directory }
    }
  }
  return children
}

const folderOf = (uri: string): string => uri.slice(0, uri.lastIndexOf('/'))
const root = folderOf('skill://a')

const typeOf = (file: SkillFile): string =>
  types.get(file.path.split('.').at(-1)?.toLowerCase() ?? '') ??
  ('text' in file ? 'text/plain' : 'application/octet-stream')
