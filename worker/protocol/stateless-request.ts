/**
 * What a client of a stateless protocol version sends with every request: its envelope, and headers that repeat parts of the body for
 * proxies.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers
 */
import { clientCapabilitiesKey, clientInfoKey, type Envelope, logLevelKey, metaOf, protocolVersionKey } from './meta.ts'
import { encodeHeader } from './param-headers.ts'
import type { Params } from './types.ts'

/** Returns the member of the params that `Mcp-Name` repeats. */
const nameIn = (method: string, { name, uri, taskId }: Params): unknown =>
  method === 'resources/read' ? uri : (name ?? taskId)

/** @param version the date of the protocol version */
export function requestHeaders(version: string, method: string, params: Params): Record<string, string> {
  const name = nameIn(method, params)
  return {
    'MCP-Protocol-Version': version,
    'Mcp-Method': method,
    ...(typeof name === 'string' && { 'Mcp-Name': encodeHeader(name) }),
  }
}

/** @param version the date of the protocol version */
export const enveloped = (params: Params, version: string, { capabilities, client, logLevel }: Envelope): Params => ({
  ...params,
  _meta: {
    ...metaOf(params),
    [protocolVersionKey]: version,
    [clientCapabilitiesKey]: capabilities,
    [clientInfoKey]: client,
    ...(logLevel && { [logLevelKey]: logLevel }),
  },
})
