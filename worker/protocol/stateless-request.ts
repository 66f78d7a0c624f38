/**
 * What a client of a stateless revision sends with every request: its envelope, and headers that say the same to proxies.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers
 */
import { clientCapabilitiesKey, clientInfoKey, type Envelope, logLevelKey, metaOf, protocolVersionKey } from './meta.ts'
import { encodeHeader } from './param-headers.ts'
import type { Params } from './types.ts'

/** What a request is about: the member of its params that `Mcp-Name` repeats. */
const nameIn = (method: string, { name, uri, taskId }: Params): unknown =>
  method === 'resources/read' ? uri : (name ?? taskId)

/** @param version the revision's date */
export function requestHeaders(version: string, method: string, params: Params): Record<string, string> {
  const name = nameIn(method, params)
  return {
    'MCP-Protocol-Version': version,
    'Mcp-Method': method,
    ...(typeof name === 'string' && { 'Mcp-Name': encodeHeader(name) }),
  }
}

/** @param version the revision's date */
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
