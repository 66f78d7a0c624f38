/** What is submitted to a directory: a server of a project, or a list of tools. */
import { CliError } from '../cli-error.ts'
import { escapeRegExp, find, lineAt } from '../doctor/code.ts'
import type { Finding } from '../doctor/finding.ts'
import type { Project, Served } from '../doctor/project.ts'
import { locate } from '../doctor/rules/server-declarations.ts'
import { readFile } from '../files.ts'

/** A tool as `tools/list` returns it. A list of tools that a user gives has the names only for certain. */
export type Tool = Pick<Served['tools'][number], 'name'> & Partial<Served['tools'][number]>

/** What the rules of directories read. */
export type Subject = {
  readonly tools: readonly Tool[]
  /** `undefined` for a list of tools. */
  readonly server?: SubmittedServer
  /** The place of a tool. */
  locate(name: string): Place
}

export type ProjectSubject = Subject & { readonly server: SubmittedServer }

export type SubmittedServer = Pick<Served, 'name' | 'info' | 'apps' | 'entries' | 'extensions'> & {
  /** Its server card, if `discovery()` serves one. */
  readonly card?: Card
  /** Its name in the registry, such as `com.example/weather`; `undefined` if nothing says it. */
  readonly registryName: string | undefined
  /** URL of the endpoint for clients, with `{tenant}` if tenants have paths; `undefined` if nothing says it. */
  readonly url: string | undefined
  /** How callers authenticate: with OAuth, or with a credential for which no metadata is served. */
  readonly auth: 'none' | 'oauth' | 'static'
  /** Returns the text of a page of the Worker; `undefined` if its status is not 200. */
  page(path: string): string | undefined
  /** The place of `createServer()` and of `serve()`. */
  readonly createdAt: Place
  readonly servedAt: Place
}

/** What a user says of a server. */
export type Said = {
  /** Which server of the project. Default: the only one. */
  readonly server?: string | undefined
  /** Its name in the registry. Default: that of its server card. */
  readonly name?: string | undefined
  /** URL of its endpoint. Default: that of its server card, or of a route. */
  readonly url?: string | undefined
}

export type Place = Pick<Finding, 'file' | 'line'>

/** The members of a server card that submissions contain. */
export type Card = {
  readonly name?: string
  readonly description?: string
  readonly repository?: object
  readonly remotes?: readonly { readonly url?: string }[]
}

export const paths = {
  registryAuth: '/.well-known/mcp-registry-auth',
  openAiChallenge: '/.well-known/openai-apps-challenge',
} as const

const resourceMetadata = '/.well-known/oauth-protected-resource'
const issuerMetadata = '/.well-known/oauth-authorization-server'
const cardPath = ({ path }: Served) => `${path.replace(/\/$/, '')}/server-card`

/** The pages that a submission reads. */
export const pagesFor = (servers: readonly Served[]): string[] => [
  ...Object.values(paths),
  resourceMetadata,
  issuerMetadata,
  ...servers.flatMap((server) => [cardPath(server), `${resourceMetadata}${server.path}`]),
]

/**
 * Returns the server of a project that is submitted.
 *
 * @throws CliError when the name of the server is needed, or is that of no server
 */
export function subjectOf(project: Project, { server: name, name: registryName, url }: Said): ProjectSubject {
  const { servers, sources, config, pages } = project
  const names = servers.map((server) => server.name)
  const served = servers.find((server) => name === undefined || server.name === name)
  if (!served) throw new CliError(`The project has no server "${name}": it has ${names.join(', ')}.`)
  if (name === undefined && names.length > 1) {
    throw new CliError(`The project has several servers: choose one, as in --server ${names[0]}.`)
  }
  const page = (path: string) => (pages[path]?.status === 200 ? pages[path].text : undefined)
  const placeOf = (call: RegExp): Place => {
    const place = find(sources, call)
    return { file: place?.file ?? config.raw.main ?? config.file, line: place?.line }
  }
  const card = parsed(page(cardPath(served)))
  return {
    tools: served.tools,
    locate: (tool) => locate(sources, { kind: 'tool', name: tool }),
    server: {
      ...served,
      ...(card && { card }),
      registryName: registryName ?? card?.name,
      url: url ?? urlOf(card) ?? urlOfRoute(project, served),
      auth: authOf(served, project),
      page,
      createdAt: placeOf(/\bcreateServer\s*\(/),
      servedAt: placeOf(/\bserve\s*\(/),
    },
  }
}

/**
 * Reads a list of tools from a file with the result of `tools/list`, or its `tools`.
 *
 * @throws CliError for a file with other contents
 */
export function subjectOfList(file: string): Subject {
  const text = readFile(file).toString()
  const value: unknown = parsed(text)
  const tools: unknown = Array.isArray(value) ? value : (value as { tools?: unknown } | undefined)?.tools
  const isTool = (tool: unknown) => typeof (tool as { name?: unknown } | null)?.name === 'string'
  if (!Array.isArray(tools) || !tools.every(isTool)) {
    throw new CliError(`${file} is not a list of tools: give the result of tools/list, { "tools": [{ "name": … }] }.`)
  }
  return {
    tools,
    locate(name) {
      const match = new RegExp(`"name"\\s*:\\s*${escapeRegExp(JSON.stringify(name))}`).exec(text)
      return { file, line: match ? lineAt(text, match.index) : undefined }
    },
  }
}

function parsed(text: string | undefined): Card | undefined {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

/** The URL in the card is that of the request, without the option `origin` of `discovery()`. */
function urlOf(card: Card | undefined): string | undefined {
  const url = card?.remotes?.[0]?.url
  return url !== undefined && URL.parse(url)?.protocol === 'https:' ? url : undefined
}

/** A route names the host for clients, if it has no pattern. */
function urlOfRoute({ config }: Project, { path }: Served): string | undefined {
  const { route, routes = [] } = config.raw
  const patterns = [...routes, ...(route ? [route] : [])].map((one) => (typeof one === 'string' ? one : one.pattern))
  const hosts = patterns.map((pattern) => pattern.replace(/^https?:\/\//, '').split('/')[0] as string)
  const host = hosts.find((one) => !one.includes('*'))
  return host === undefined ? undefined : `https://${host}${path}`
}

/** A `static` credential is certain: callers authenticate, and both metadata documents are missing. */
function authOf({ has, path }: Served, { pages }: Project): SubmittedServer['auth'] {
  if (!has.auth) return 'none'
  const metadata = path.includes('{') ? [] : [`${resourceMetadata}${path}`, resourceMetadata, issuerMetadata]
  return metadata.length > 0 && metadata.every((one) => pages[one]?.status === 404) ? 'static' : 'oauth'
}
