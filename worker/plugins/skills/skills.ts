import { parse } from 'yaml'
import { checkOptions } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Module } from '../../declarations/server.ts'
import { extension } from '../../engine/extension.ts'
import { McpError } from '../../protocol/errors.ts'
import { toHex } from '../../protocol/hex.ts'
import type { Caching, Params } from '../../protocol/types.ts'
import { utf8 } from '../../protocol/utf8.ts'

export type SkillsOptions = {
  /** How long clients may keep lists of skills, and for whom. Default: not at all. */
  caching?: Caching
}

type Entry = {
  readonly uri: string
  readonly frontmatter: Params
  readonly resources: readonly { readonly uri: string; readonly digest: string; readonly size: number }[]
}

const manifest = 'SKILL.md'
const directory = 'inode/directory'
const types: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  txt: 'text/plain',
  json: 'application/json',
  html: 'text/html',
  css: 'text/css',
  js: 'text/javascript',
  csv: 'text/csv',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  pdf: 'application/pdf',
}

/**
 * Skills, to plug in: folders of instructions that clients give to their models when they are needed.
 *
 * @example
 * import manual from './skills/git-help/SKILL.md'
 * server.use(skills({ 'git-help/SKILL.md': manual }))
 *
 * @param files by their paths: every folder with a `SKILL.md` is a skill, and what lies below it belongs to it
 * @throws Error with one sentence that names the file and the fix
 *
 * @see https://modelcontextprotocol.io/seps/2640-skills-extension
 */
export function skills(files: Readonly<Record<string, string | Uint8Array>>, options: SkillsOptions = {}): Module {
  checkOptions('skills()', options, { caching: kind.caching })
  const { caching = { ttlMs: 0, cacheScope: 'private' } } = options
  const paths = Object.keys(files).sort()
  const folders = paths.filter((path) => path.endsWith(`/${manifest}`)).map((path) => path.slice(0, -manifest.length))
  const described = new Map(folders.map((folder) => [folder, frontmatterOf(folder, files[folder + manifest])]))
  for (const path of paths) {
    if (!folders.some((folder) => path.startsWith(folder))) {
      throw new Error(`The file "${path}" belongs to no skill: put it below a folder that has a ${manifest}`)
    }
  }

  let loading: Promise<Entry[]> | undefined
  const entries = () => {
    loading ??= Promise.all(folders.map(entryOf))
    return loading
  }

  async function entryOf(folder: string): Promise<Entry> {
    const mine = paths.filter((path) => path.startsWith(folder))
    const resources = mine.map(async (path) => {
      const bytes = bytesOf(files[path] as string | Uint8Array)
      return {
        uri: uriOf(path),
        digest: `sha256:${toHex(await crypto.subtle.digest('SHA-256', bytes))}`,
        size: bytes.byteLength,
      }
    })
    const frontmatter = described.get(folder) as Params
    return { uri: uriOf(folder + manifest), frontmatter, resources: await Promise.all(resources) }
  }

  /** The direct children of a folder; nothing for what is none. */
  function childrenOf(uri: unknown) {
    const below = paths.filter((path) => uriOf(path).startsWith(`${uri}/`))
    const names = below.map((path) => uriOf(path).slice(`${uri}/`.length).split('/'))
    const seen = new Map(names.map(([name = '', ...more]) => [name, more.length > 0]))
    return [...seen].map(([name, isFolder]) => ({
      uri: `${uri}/${name}`,
      name: decodeURIComponent(name),
      mimeType: isFolder ? directory : typeOf(name),
    }))
  }

  return (server) => {
    for (const path of paths) {
      const folder = folders.find((folder) => path.startsWith(folder)) as string
      const { name, description } = described.get(folder) as { name: string; description: string }
      const isManifest = path === folder + manifest
      server.resource(
        uriOf(path),
        {
          name: isManifest ? name : (path.split('/').at(-1) as string),
          description: isManifest ? description : `Belongs to the skill ${name}`,
          mimeType: typeOf(path),
        },
        () => files[path] as string | Uint8Array,
      )
    }
    server.use(
      extension('io.modelcontextprotocol/skills', {
        settings: { directoryRead: true },
        methods: {
          'skills/list': async () => ({ skills: await entries(), ...caching }),
          'skills/get': async ({ uri }) => {
            const skill = (await entries()).find((entry) => entry.uri === uri)
            if (!skill) throw new McpError('invalid_params', `Unknown skill: ${uri}`)
            return { skill, ...caching }
          },
          'resources/directory/read': ({ uri }) => {
            const resources = childrenOf(uri)
            if (resources.length === 0) throw new McpError('invalid_params', `Not a directory: ${uri}`)
            return { resources, ...caching }
          },
        },
      }),
    )
  }
}

const uriOf = (path: string) => `skill://${path.split('/').map(encodeURIComponent).join('/')}`

const typeOf = (path: string): string =>
  types[path.split('.').at(-1)?.toLowerCase() ?? ''] ?? 'application/octet-stream'

const bytesOf = (content: string | Uint8Array): Uint8Array<ArrayBuffer> =>
  typeof content === 'string' ? new Uint8Array(utf8(content)) : new Uint8Array(content)

function frontmatterOf(folder: string, content: string | Uint8Array | undefined): Params {
  const path = folder + manifest
  const [, yaml] = /^\ufeff?---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(String(content)) ?? []
  const found: unknown = yaml === undefined ? undefined : parse(yaml)
  const { name, description } = (found ?? {}) as Params
  if (typeof name !== 'string' || typeof description !== 'string' || name === '' || description === '') {
    throw new Error(
      `The file "${path}" must begin with frontmatter that has a name and a description, between two lines of ---`,
    )
  }
  const last = folder.split('/').at(-2)
  if (name !== last) throw new Error(`The skill "${name}" must lie in a folder of that name, not in "${last}"`)
  return found as Params
}
