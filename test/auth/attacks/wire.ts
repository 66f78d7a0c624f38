/** A whole request as it goes over the wire. */
import type { Stage } from './stage.ts'

const read = { name: 'read', arguments: {} }

/** A whole request as it goes over the wire, asking for the tool `read`. */
export async function wire(
  stage: Stage,
  lines: readonly string[],
  { target = '/mcp', host = true } = {},
): Promise<Buffer> {
  const { body = '', headers = {} } = stage.stateless('tools/call', read, {})
  const plain = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const own = host ? [`Host: ${stage.server.url.host}`] : []
  const all = [`POST ${target} HTTP/1.1`, ...own, ...plain, ...lines, 'Connection: close']
  const sized = lines.some((line) => /^(?:content-length|transfer-encoding)/i.test(line))
    ? all
    : [...all, `Content-Length: ${Buffer.byteLength(body)}`]
  return Buffer.from(`${sized.join('\r\n')}\r\n\r\n${body}`, 'latin1')
}
