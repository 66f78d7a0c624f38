/** What is submitted to a directory: a server of a project, or a list of tools. */
import { CliError } from '../cli-error.ts'
import { escapeRegExp, find, lineAt } from '../doctor/code.ts'
import type { Config } from '../doctor/config.ts'
import type { Finding } from '../doctor/finding.ts'
import type { Project, Served } from '../doctor/project.ts'
import { locate } from '../doctor/rules/server-declarations.ts'
import type { Page, Pages } from '../doctor/wrangler.ts'
import { readFile } from '../files.ts'
import { isObject, type Json, parseJson } from './json.ts'

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
  /** Whether `discovery()` can describe it: tenants that have paths share a host, which has one description. */
  readonly takesDiscovery: boolean
  /** Its server card, if `discovery()` serves one. */
  readonly card?: Card
  /** Its name in the registry, such as `com.example/weather`; `undefined` if nothing says it. */
  readonly registryName: string | undefined
  /** URL of the endpoint for clients, with `{tenant}` if tenants have paths; `undefined` if nothing says it. */
  readonly url: string | undefined
  /** How callers authenticate: with OAuth, or with a credential for which no metadata is served. */
  readonly auth: 'none' | 'oauth' | 'static'
  /** Whether the Worker serves a proof, by name. */
  readonly proves: Readonly<Record<keyof typeof paths, boolean>>
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
  readonly name: string
  readonly description?: string
  readonly repository?: Json
  readonly remotes?: readonly { readonly url?: string }[]
  readonly serverInfo?: { readonly name?: string }
}

export const paths = {
  registryAuth: '/.well-known/mcp-registry-auth',
  openAiChallenge: '/.well-known/openai-apps-challenge',
} as const

/** A Worker may answer every path with the same page. */
const isProof: Readonly<Record<keyof typeof paths, (page: Page) => boolean>> = {
  registryAuth: ({ text }) => text.startsWith('v=MCPv1'),
  openAiChallenge: ({ type }) => type.startsWith('text/plain'),
}

const resourceMetadata = '/.well-known/oauth-protected-resource'
const issuerMetadata = '/.well-known/oauth-authorization-server'
const cardPath = ({ path }: Served) => `${path.replace(/\/$/, '')}/server-card`

/** The URLs that a submission requests. A Worker may serve each host differently. */
export const pagesFor = (servers: readonly Served[], config: Config, url: string | undefined): string[] =>
  originsOf(config, url).flatMap((origin) =>
    [
      ...Object.values(paths),
      resourceMetadata,
      issuerMetadata,
      ...servers.flatMap((server) => [server.path, cardPath(server), `${resourceMetadata}${server.path}`]),
    ].map((path) => origin + path),
  )

const local = 'http://localhost'

/** The origins at which clients may reach a Worker, and the machine. */
function originsOf(config: Config, url: string | undefined): string[] {
  const { protocol, origin } = URL.parse(url ?? '') ?? {}
  const said = origin !== undefined && protocol === 'https:' ? [origin] : []
  return [...new Set([...said, ...hostsOf(config).map((host) => `https://${host}`), local])]
}

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
  const placeOf = (call: RegExp): Place => {
    const place = find(sources, call)
    return { file: place?.file ?? config.raw.main ?? config.file, line: place?.line }
  }
  const origins = originsOf(config, url).filter((origin) => isEndpoint(pages[origin + served.path]))
  const origin =
    origins.find((one) => cardAt(one, served, pages)?.serverInfo?.name === served.name) ?? origins[0] ?? local
  const card = cardAt(origin, served, pages)
  const serves = (name: keyof typeof paths) => {
    const page = pages[`${origin}${paths[name]}`]
    return page?.status === 200 && isProof[name](page)
  }
  return {
    tools: served.tools,
    locate: (tool) => locate(sources, { kind: 'tool', name: tool }),
    server: {
      ...served,
      takesDiscovery: !served.path.includes('{tenant}'),
      ...(card && { card }),
      registryName: registryName ?? card?.name,
      url: url ?? urlOf(card) ?? urlOfRoute(config, served, origin),
      auth: authOf(served, origins, pages),
      proves: { registryAuth: serves('registryAuth'), openAiChallenge: serves('openAiChallenge') },
      createdAt: placeOf(/\bcreateServer\s*\(/),
      servedAt: placeOf(/\bserve\s*\(/),
    },
  }
}

/**
 * Reads a list of tools from a file with the result of `tools/list`, its response, or its `tools`.
 *
 * @throws CliError for a file with other contents
 */
export function subjectOfList(file: string): Subject {
  const text = readFile(file).toString()
  const tools = toolsIn(parseJson(text))
  if (!Array.isArray(tools)) {
    throw new CliError(`${file} is not a list of tools: give the result of tools/list, { "tools": [{ "name": … }] }.`)
  }
  const wrong = tools.findIndex((tool) => !isTool(tool))
  if (wrong >= 0) {
    throw new CliError(
      `${file}: tools[${wrong}] is not a tool. It has a name, texts as title and description, and objects as inputSchema, outputSchema, annotations and _meta.`,
    )
  }
  return {
    tools,
    locate(name) {
      const match = new RegExp(`"name"\\s*:\\s*${escapeRegExp(JSON.stringify(name))}`).exec(text)
      return { file, line: match ? lineAt(text, match.index) : undefined }
    },
  }
}

function toolsIn(value: unknown): unknown {
  if (!isObject(value)) return value
  return isObject(value.result) ? value.result.tools : value.tools
}

const isOptional = (value: unknown, is: (value: unknown) => boolean): boolean => value === undefined || is(value)
const isText = (value: unknown): value is string => typeof value === 'string'

function isTool(value: unknown): value is Tool {
  if (!isObject(value) || !isText(value.name)) return false
  const { title, description, inputSchema, outputSchema, annotations, _meta } = value
  return (
    [title, description, isObject(annotations) ? annotations.title : undefined].every((one) =>
      isOptional(one, isText),
    ) && [inputSchema, outputSchema, annotations, _meta].every((one) => isOptional(one, isObject))
  )
}

/** The URL in the card is that of the request, without the option `origin` of `discovery()`. */
function urlOf(card: Card | undefined): string | undefined {
  const url = card?.remotes?.[0]?.url
  return url !== undefined && URL.parse(url)?.protocol === 'https:' ? url : undefined
}

/** A route names the host for clients, if it has no pattern. */
function hostsOf({ raw: { route, routes = [] } }: Config): string[] {
  const patterns = [...routes, ...(route ? [route] : [])].map((one) => (typeof one === 'string' ? one : one.pattern))
  return patterns
    .map((pattern) => pattern.replace(/^https?:\/\//, '').split('/')[0] as string)
    .filter((host) => !host.includes('*'))
}

function urlOfRoute(config: Config, { path }: Served, origin: string): string | undefined {
  const hosts = hostsOf(config)
  const host = hosts.find((one) => `https://${one}` === origin) ?? hosts[0]
  return host === undefined ? undefined : `https://${host}${path}`
}

/** Another host may have no endpoint, as with tenants that have hosts. */
const isEndpoint = (page: Page | undefined): boolean => page !== undefined && page.status !== 404

function cardAt(origin: string, served: Served, pages: Pages): Card | undefined {
  const page = pages[origin + cardPath(served)]
  return page?.status === 200 ? (withText(page, 'name') as Card | undefined) : undefined
}

/** Returns the JSON of a page, if it has a text as this member. */
function withText({ text }: Page, member: string): Json | undefined {
  const value = parseJson(text)
  return isObject(value) && isText(value[member]) ? value : undefined
}

/** A `static` credential is certain: a host refuses callers without one, and each such host has neither metadata document. */
function authOf({ has, path }: Served, origins: readonly string[], pages: Pages): SubmittedServer['auth'] {
  if (!has.auth) return 'none'
  const metadata = [
    [`${resourceMetadata}${path}`, 'resource'],
    [resourceMetadata, 'resource'],
    [issuerMetadata, 'issuer'],
  ] as const
  const isMissing = (page: Page | undefined, member: string) =>
    page?.status === 404 || (page?.status === 200 && withText(page, member) === undefined)
  const isStatic = (origin: string) => metadata.every(([path, member]) => isMissing(pages[origin + path], member))
  const guarded = origins.filter((origin) => pages[origin + path]?.status === 401)
  return guarded.length > 0 && guarded.every(isStatic) ? 'static' : 'oauth'
}
