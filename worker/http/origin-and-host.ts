/**
 * Validation of the host name and of the header `Origin`, which protects local servers from DNS rebinding, and all servers from foreign
 * pages.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */
import { McpError } from '../protocol/errors.ts'
import { isLoopback } from '../protocol/loopback.ts'

/**
 * Decides which web pages may call a server, and under which host names.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */
export type Policy = {
  /** Origins of web pages that may call, besides the server's own, such as `https://app.example.com`; `*` accepts all. Default: none. */
  origins: readonly string[]
  /** Host names without port under which the server may be called, besides loopback. Default: an empty list, which accepts every https host. */
  hosts: readonly string[]
}

/** Validates the host name of a request. @returns the error `forbidden` if the policy does not contain it */
export function guardHost(url: URL, { hosts }: Pick<Policy, 'hosts'>): McpError | undefined {
  if (isLoopback(url.hostname) || isKnownHost(url, hosts)) return undefined
  return new McpError('forbidden', `The host ${url.hostname} is not allowed: add it to the option hosts`)
}

/**
 * Validates the header `Origin`, which browsers send and other clients omit.
 *
 * @returns the error `forbidden` if the policy does not contain the origin
 */
export function guardOrigin(
  origin: string | null,
  url: URL,
  { origins }: Pick<Policy, 'origins'>,
): McpError | undefined {
  if (origin === null || origins.includes('*') || origins.includes(origin)) return undefined
  const page = URL.parse(origin)
  if (page?.origin === url.origin) return undefined
  // A page on this machine may call a server on this machine, whatever the ports.
  if (page && isLoopback(page.hostname) && isLoopback(url.hostname)) return undefined
  return new McpError('forbidden', 'This origin is not allowed: add it to the option origins')
}

// A page can point any name at this machine (DNS rebinding), so over plain http a name must be known.
const isKnownHost = (url: URL, hosts: readonly string[]) =>
  hosts.length > 0 ? hosts.includes(url.hostname) : url.protocol === 'https:'
