/**
 * The server card: what everyone may know of a server before they connect.
 *
 * @see https://github.com/modelcontextprotocol/modelcontextprotocol/pull/2127
 */
import { capabilitiesOf } from '../../engine/methods/discover.ts'
import type { Runtime } from '../../plugin.ts'
import { revisions } from '../../protocol/revisions/index.ts'
import type { Params, ServerCapabilities } from '../../protocol/types.ts'
import { protectedResource } from '../../protocol/well-known.ts'
import type { RequestAuth, ServerInfo } from '../../request-hooks.ts'
import type { DiscoveryOptions } from './options.ts'

export const cardType = 'application/mcp-server-card+json'

/** An endpoint, as documents name it. */
export type Endpoint = {
  /** Domain and name, such as `com.example/weather`. */
  readonly name: string
  readonly origin: string
  readonly url: string
  readonly cardUrl: string
  /** URL of the metadata of RFC 9728; `undefined` without an authorization server. */
  readonly metadataUrl: string | undefined
}

/** Returns the path of the server card of an endpoint. */
export const cardPathOf = (mcp: string): string => `${mcp.replace(/\/$/, '')}/server-card`

/** Whether callers without a token may use the endpoint. */
export const admitsEveryone = (auth: RequestAuth | undefined): boolean => !auth || auth.allowAnonymous === true

/** Describes the endpoint that a request is for. */
export async function describeEndpoint(
  request: Request,
  info: ServerInfo,
  options: DiscoveryOptions,
): Promise<Endpoint> {
  const { origin } = new URL(options.origin ?? request.url)
  const { mcp } = info.paths
  return {
    name: options.name,
    origin,
    url: origin + mcp,
    cardUrl: origin + cardPathOf(mcp),
    metadataUrl: await metadataUrlOf(origin, info),
  }
}

/** Asks the `auth` whether it has metadata: API keys have none. */
async function metadataUrlOf(origin: string, info: ServerInfo): Promise<string | undefined> {
  const { mcp } = info.paths
  const url = `${origin}${protectedResource}${mcp === '/' ? '' : mcp}`
  const response = await info.auth?.handleRequest?.(new Request(url), info)
  return response?.ok ? url : undefined
}

/**
 * Returns the card. It has the members of the current draft, and those of the older one that scanners read: `serverInfo`, `transport`,
 * `capabilities` and `authentication`.
 */
export function serverCard(
  { name, url, metadataUrl }: Endpoint,
  { auth }: ServerInfo,
  runtime: Runtime,
  { description: own, repository }: DiscoveryOptions,
): Params {
  const { options } = runtime.declarations
  const { version, title, websiteUrl, icons } = options
  const description = own ?? (options.description || title || shortened(options.name))
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name,
    version,
    title: title || undefined,
    description,
    websiteUrl,
    repository,
    icons,
    remotes: [{ type: 'streamable-http', url, supportedProtocolVersions: revisions.map(({ date }) => date) }],
    serverInfo: { name: options.name, version, title: title || undefined },
    transport: { type: 'streamable-http', endpoint: url },
    capabilities: publicCapabilities(runtime, auth),
    authentication: auth && { required: auth.allowAnonymous !== true, resourceMetadata: metadataUrl },
  }
}

const shortened = (text: string): string => [...text].slice(0, 100).join('')

/** Returns the capabilities. If callers need a token, those of extensions are not public. */
function publicCapabilities(runtime: Runtime, auth: RequestAuth | undefined): ServerCapabilities {
  const updates = runtime.provided.some(({ streams }) => streams?.['subscriptions/listen'])
  const capabilities = capabilitiesOf(runtime.declarations, { updates })
  if (admitsEveryone(auth)) return capabilities
  const { extensions: _, experimental: __, ...ofProtocol } = capabilities
  return ofProtocol
}
