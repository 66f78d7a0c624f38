/**
 * The headers `Mcp-Method`, `Mcp-Name` and `Mcp-Param-…` of a stateless request: they must match its body, because proxies route by them.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers
 */
import { McpError } from '../../protocol/errors.ts'
import { decodeHeader, getPath, type HeaderParameter, mirrors } from '../../protocol/param-headers.ts'
import type { Params } from '../../protocol/types.ts'

/**
 * @param member of `params` that `Mcp-Name` repeats
 * @throws McpError `header_mismatch`
 */
export function checkStandardHeaders(
  headers: Headers,
  method: string,
  params: Params,
  member: string | undefined,
): void {
  const header = headers.get('Mcp-Method')
  if (header === null) throw missing('Mcp-Method')
  if (header !== method) throw mismatch('Mcp-Method', 'the method')
  if (!member) return
  const name = read(headers, 'Mcp-Name')
  if (name === undefined) throw missing('Mcp-Name')
  const value = params[member]
  // The method refuses a value that is not a string.
  if (typeof value === 'string' && name !== value) throw mismatch('Mcp-Name', `params.${member}`)
}

/** @throws McpError `header_mismatch` */
export function checkMirroredParameters(headers: Headers, mirrored: readonly HeaderParameter[], args: unknown): void {
  for (const { header, path } of mirrored) {
    const name = `Mcp-Param-${header}`
    const value = read(headers, name)
    const argument = getPath(args, path)
    if (value === undefined && argument === undefined) continue
    if (value === undefined) throw missing(name)
    if (argument === undefined || !mirrors(value, argument)) throw mismatch(name, `arguments.${path.join('.')}`)
  }
}

function read(headers: Headers, name: string): string | undefined {
  const value = headers.get(name)
  if (value === null) return undefined
  const decoded = decodeHeader(value)
  if (decoded === undefined)
    throw new McpError('header_mismatch', `Header ${name} is not validly encoded: write "=?base64?<value>?="`)
  return decoded
}

const missing = (name: string) => new McpError('header_mismatch', `Missing header ${name}`)
const mismatch = (name: string, what: string) =>
  new McpError('header_mismatch', `Header ${name} does not match ${what} in the body`)
