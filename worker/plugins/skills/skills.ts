import { checkOptions } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Module } from '../../declarations/server.ts'
import { extension } from '../../engine/extension.ts'
import { readText } from '../../engine/methods/method.ts'
import { decodeBase64 } from '../../protocol/base64.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Caching } from '../../protocol/types.ts'
import type { Skill } from './skill.ts'

/** Configures `skills()`. */
export type SkillsOptions = {
  /** How long clients may cache lists of skills: `ttlMs` milliseconds, for one user (`private`) or for all (`public`). Default: no caching. */
  caching?: Caching
  /** Scopes that a token needs to list and read the skills; `[]` admits every caller that `auth` accepts. Default: none. */
  scopes?: readonly string[]
}

const manifest = 'SKILL.md'
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
 * Adds skills to a server, as a module for `server.use`: folders of instructions that clients load for their models on demand.
 *
 * @param list the skills that `npx edgemcp skills` writes
 * @throws Error for a value that is not a skill, and for two skills with one folder
 * @see https://modelcontextprotocol.io/seps/2640-skills-extension
 *
 * @example
 * declare const mySkills: readonly Skill[] // of the module that `npx edgemcp skills` writes
 * server.use(skills(mySkills))
 */
export function skills(list: readonly Skill[], options: SkillsOptions = {}): Module {
  checkOptions('skills()', options, { caching: kind.caching, scopes: kind.scopes })
  checkSkills(list)
  const { caching = { ttlMs: 0, cacheScope: 'private' }, scopes } = options
  const entries = list.map(({ folder, frontmatter, files }) => ({
    uri: uriOf(`${folder}/${manifest}`),
    frontmatter,
    resources: files.map(({ path, digest, size }) => ({ uri: uriOf(`${folder}/${path}`), digest, size })),
  }))
  const paths = list.flatMap(({ folder, files }) => files.map(({ path }) => `${folder}/${path}`)).sort()

  return (server) => {
    for (const { folder, frontmatter, files } of list) {
      for (const file of files) {
        const isManifest = file.path === manifest
        server.resource(
          uriOf(`${folder}/${file.path}`),
          {
            name: isManifest ? frontmatter.name : (file.path.split('/').at(-1) ?? file.path),
            description: isManifest ? frontmatter.description : `Belongs to the skill ${frontmatter.name}`,
            mimeType: typeOf(file.path),
            ...(scopes && { scopes }),
          },
          () => ('text' in file ? file.text : decodeBase64(file.base64)),
        )
      }
    }
    server.use(
      extension('io.modelcontextprotocol/skills', {
        settings: { directoryRead: true },
        ...(scopes && { scopes }),
        methods: {
          'skills/list': () => ({ skills: entries, ...caching }),
          'skills/get': (params) => {
            const uri = readText(params, 'uri')
            const skill = entries.find((entry) => entry.uri === uri)
            if (!skill) throw new McpError('invalid_params', `Unknown skill: ${uri}`)
            return { skill, ...caching }
          },
          'resources/directory/read': (params) => {
            const uri = readText(params, 'uri')
            const resources = childrenOf(uri, paths)
            if (resources.length === 0) throw new McpError('invalid_params', `Not a directory: ${uri}`)
            return { resources, ...caching }
          },
        },
      }),
    )
  }
}

/** Returns the direct children of a folder; an empty list for an unknown folder. @param paths of all files */
function childrenOf(uri: string, paths: readonly string[]) {
  if (!uri.startsWith('skill://')) return []
  const below = paths.filter((path) => uriOf(path).startsWith(`${uri}/`))
  const names = below.map((path) => uriOf(path).slice(`${uri}/`.length).split('/'))
  const seen = new Map(names.map(([name = '', ...more]) => [name, more.length > 0]))
  return [...seen].map(([name, isFolder]) => ({
    uri: `${uri}/${name}`,
    name: decodeURIComponent(name),
    mimeType: isFolder ? directory : typeOf(name),
  }))
}

const uriOf = (path: string) => `skill://${path.split('/').map(encodeURIComponent).join('/')}`

const typeOf = (path: string): string =>
  types.get(path.split('.').at(-1)?.toLowerCase() ?? '') ?? 'application/octet-stream'

/** @throws Error for what `npx edgemcp skills` does not write */
function checkSkills(list: readonly Skill[]): void {
  const isSkill = (value: Partial<Skill> | null) =>
    typeof value?.folder === 'string' && typeof value.frontmatter?.name === 'string' && Array.isArray(value.files)
  if (!Array.isArray(list) || !list.every(isSkill)) {
    throw new Error('skills() takes the list that "npx edgemcp skills <folder> --out <file.ts>" generates')
  }
  const folders = list.map(({ folder }) => folder)
  const twice = folders.find((folder, index) => folders.indexOf(folder) !== index)
  if (twice !== undefined) throw new Error(`Two skills have the folder "${twice}": rename one`)
}
