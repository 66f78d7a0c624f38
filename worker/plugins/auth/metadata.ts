/**
 * The metadata of this server, for clients without a token.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9728
 */
import { matchPath } from '../../protocol/match-path.ts'
import type { Params } from '../../protocol/types.ts'
import { authorizationServer, protectedResource } from '../../protocol/well-known.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import type { Issuer } from './verify-jwt.ts'

export type Description = {
  resource: string | undefined
  name: string | undefined
  documentation: string | undefined
  issuers: readonly string[]
  scopes: readonly string[]
  /** Whether the URL of an endpoint with a slash at its end names the endpoint, too. */
  acceptsSlash: boolean
  /** `undefined`: DPoP is not offered. */
  dpop: { readonly algorithms: readonly string[]; readonly isRequired: boolean } | undefined
}

/** Returns the path of the endpoint that answers a request. What the older transport posts to is part of the endpoint beside it. */
export const endpointPath = (pathname: string, { mcp, sse, messages }: ServerInfo['paths']): string =>
  (matchPath(pathname, [mcp, sse, messages]) ?? mcp) === mcp ? mcp : sse

/**
 * Returns the canonical URL of an endpoint. RFC 8707, section 2.
 *
 * @param resource the URL of the first endpoint, if the server has one name only
 * @param path the path of the endpoint. Default: the path of the request
 */
export function resourceOf(
  request: Request,
  { paths }: Pick<ServerInfo, 'paths'>,
  resource: string | undefined,
  path: string | undefined = new URL(request.url).pathname,
): string {
  const endpoint = endpointPath(path, paths)
  if (resource !== undefined && endpoint === paths.mcp) return resource
  return new URL(endpoint, resource ?? request.url).href
}

/** Returns the URL of an endpoint as a client writes its path: with a slash at its end, or without. */
export function writtenAs(resource: string, path: string): string {
  if (new URL(resource).pathname === '/') return resource
  return `${resource.replace(/\/$/, '')}${/[^/]\/$/.test(path) ? '/' : ''}`
}

/** Returns the URL of the metadata of a resource: the well-known path goes between host and path. RFC 9728, section 3.1. */
export function metadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}${protectedResource}${pathname === '/' ? '' : pathname}`
}

/** Serves the metadata of an endpoint, at the well-known path of each endpoint and at that of the origin. */
export function resourceMetadata(
  request: Request,
  serverInfo: ServerInfo,
  { resource, name, documentation, issuers, scopes, acceptsSlash, dpop }: Description,
): Promise<Response> | undefined {
  const { pathname } = new URL(request.url)
  if (!pathname.startsWith(protectedResource)) return undefined
  const { paths } = serverInfo
  const written = pathname.slice(protectedResource.length) || paths.mcp
  const path = matchPath(written, Object.values(paths))
  if (path === undefined) return undefined
  const canonical = resourceOf(request, serverInfo, resource, path)
  return publicJson(request, {
    resource: acceptsSlash ? writtenAs(canonical, written) : canonical,
    authorization_servers: issuers.length > 0 ? issuers : undefined,
    scopes_supported: scopes.length > 0 ? scopes : undefined,
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: dpop?.algorithms,
    dpop_bound_access_tokens_required: dpop?.isRequired || undefined,
    resource_name: name,
    resource_documentation: documentation,
  })
}

/** Serves the metadata of the authorization server, which clients of 2025-03-26 and older read from the host of the MCP server. */
export function authorizationServerMetadata(
  request: Request,
  serverInfo: ServerInfo,
  issuer: Issuer | undefined,
): Promise<Response> | undefined {
  if (!issuer || new URL(request.url).pathname !== authorizationServer) return undefined
  return issuer
    .metadata(serverInfo)
    .then((metadata) => (metadata ? publicJson(request, metadata) : new Response(null, { status: 404, headers: open })))
    .catch(() => new Response(null, { status: 503, headers: { ...open, 'Retry-After': '5' } }))
}

/** Headers that let every page read the metadata. */
const open = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': '*' }

async function publicJson({ method }: Request, value: Readonly<Params>): Promise<Response> {
  if (method === 'OPTIONS') return new Response(null, { status: 204, headers: open })
  if (method !== 'GET' && method !== 'HEAD') {
    return new Response(null, { status: 405, headers: { ...open, Allow: 'GET, HEAD, OPTIONS' } })
  }
  const headers = { ...open, 'Content-Type': 'application/json', 'Cache-Control': 'max-age=300' }
  return new Response(method === 'HEAD' ? null : JSON.stringify(value), { headers })
}
