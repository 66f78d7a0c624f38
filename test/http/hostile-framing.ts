/**
 * Requests that are barely HTTP, bodies that are too large, too slow or not all there, methods and paths nobody offered.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9112
 */
import {
  answered,
  byRuntime,
  empty,
  type Headers,
  post,
  type Row,
  refused,
  row,
  said,
  stateless,
  type Wire,
  withHeaders,
} from './hostile-row.ts'

/** Bytes: the server's limit for a body. */
const limit = 1_000_000

const discover = stateless('server/discover')
const discovered = answered(1, { supportedVersions: ['2026-07-28'] })
const discoverWith = (headers: Headers) => withHeaders(discover, headers)

/** A request with these lines after its first three, and then this body. */
const raw = (lines: readonly string[], body = '', more: Partial<Wire> = {}): Wire => ({
  ...more,
  raw: (host) =>
    ['POST /mcp HTTP/1.1', `Host: ${host}`, 'Content-Type: application/json', ...lines, '', body].join('\r\n'),
})

const chunked = (body: string, more?: Partial<Wire>) => raw(['Transfer-Encoding: chunked'], body, more)

/** The same request, its body in chunks of so many bytes. */
function inChunks(wire: Wire, size: number): Wire {
  const bytes = Buffer.from(wire.body ?? '').toString('latin1')
  const pieces = bytes.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
  const encoded = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')
  const body = Buffer.from(`${encoded}0\r\n\r\n`, 'latin1')
  return { ...withHeaders(wire, { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }), body }
}

/** A tool call whose body has exactly this many bytes, and the text it carries. */
function padded(bytes: number): { wire: Wire; text: string } {
  const call = (text: string) => stateless('tools/call', { name: 'echo', arguments: { text } })
  const text = 'a'.repeat(bytes - Buffer.byteLength(call('').body as string))
  return { wire: call(text), text }
}

const notAllowed = (Allow: string) => refused(405, -32600, undefined, { headers: { Allow } })
const mcpMethods = 'GET, POST, DELETE, OPTIONS'

const unreached = (what: string, wire: Wire, status = 400) =>
  row(`${what} never reaches the server`, wire, byRuntime(status))

export const framing: Row[] = [
  // Where a body ends
  row('a body in many small chunks is put together', inChunks(discover, 7), discovered),
  unreached('a chunk size that is not a number', chunked('zz\r\n{}\r\n0\r\n\r\n'), 500),
  unreached('a negative chunk size', chunked('-2\r\n{}\r\n0\r\n\r\n'), 500),
  unreached('a chunk longer than its size', chunked('2\r\n{}{}\r\n0\r\n\r\n'), 500),
  unreached('a chunked body that ends unexpectedly', chunked('2\r\n{}\r\n', { halfClose: true }), 500),
  unreached('a body that ends unexpectedly', raw(['Content-Length: 100'], '{}', { halfClose: true }), 500),
  row('a chunked body that never ends times out', chunked('2\r\n{}\r\n'), refused(408, -32600)),
  row('a body shorter than its length times out', raw(['Content-Length: 100'], '{}'), refused(408, -32600)),
  row('a body that never begins times out', raw(['Content-Length: 100']), refused(408, -32600)),
  row('a body longer than its length is cut', discoverWith({ 'Content-Length': '20' }), refused(400, -32700)),
  row('an absent body is invalid JSON', raw([]), refused(400, -32700)),
  row('a body without a length is not read', raw([], '{"jsonrpc":"2.0"}'), refused(400, -32700)),
  unreached('a negative length', raw(['Content-Length: -1'], '{}')),
  unreached('a length in words', raw(['Content-Length: two'], '{}')),
  unreached('a length with a sign', raw(['Content-Length: +2'], '{}')),
  unreached('a length beyond 64 bits', raw([`Content-Length: ${'9'.repeat(20)}`], '{}')),
  unreached('a request with two lengths', raw(['Content-Length: 2', 'Content-Length: 3'], '{}')),
  unreached('a transfer coding other than chunked', raw(['Transfer-Encoding: gzip'], '{}')),
  row('two equal lengths count as one', raw(['Content-Length: 2', 'Content-Length: 2'], '{}'), refused(400, -32600)),
  row(
    'chunks take precedence over a length, and the connection ends',
    raw(['Content-Length: 5', 'Transfer-Encoding: chunked'], '2\r\n{}\r\n0\r\n\r\n'),
    refused(400, -32600, undefined, { headers: { Connection: 'close' } }),
  ),
  row('a client that expects 100-continue gets it', discoverWith({ Expect: '100-continue' }), discovered),

  // What a head may look like
  unreached('a header without a colon', raw(['nonsense'])),
  unreached('a space before the colon', raw(['Content-Length : 2'], '{}')),
  unreached('a folded header', raw(['X-Folded: a', ' b', 'Content-Length: 2'], '{}')),
  unreached('a NUL in a header', raw(['X-Nul: a\0b', 'Content-Length: 2'], '{}')),
  unreached('a bare carriage return in a header', raw(['X-Cr: a\rb', 'Content-Length: 2'], '{}')),
  unreached('HTTP/0.9', { raw: () => 'GET /mcp\r\n\r\n' }),
  unreached('HTTP/3.7', { raw: (host) => `GET /mcp HTTP/3.7\r\nHost: ${host}\r\n\r\n` }),
  unreached('a TLS greeting', { raw: () => '\x16\x03\x01\x02\x00\x01\x00\r\n\r\n' }),
  unreached('a request without a Host', { raw: () => 'GET /mcp HTTP/1.1\r\n\r\n' }),
  unreached('a request with two Hosts', raw(['Host: evil.example', 'Content-Length: 2'], '{}'), 500),
  row('HTTP/1.0 is answered', { raw: (host) => `PUT /mcp HTTP/1.0\r\nHost: ${host}\r\n\r\n` }, notAllowed(mcpMethods)),
  row(
    'bare line feeds are line ends',
    { raw: (host) => `PUT /mcp HTTP/1.1\nHost: ${host}\nContent-Length: 0\n\n` },
    notAllowed(mcpMethods),
  ),
  row('a header of 60,000 bytes changes nothing', discoverWith({ 'X-Long': 'a'.repeat(60_000) }), discovered),
  row(
    'a thousand headers change nothing',
    discoverWith(Object.fromEntries(Array.from({ length: 1000 }, (_, number) => [`X-${number}`, 'a']))),
    discovered,
  ),
  row(
    'an escaped line break in an Origin adds no header to the response',
    discoverWith({ Origin: 'http://evil.example%0d%0aSet-Cookie:%20a=b' }),
    refused(403, -32600, undefined, { headers: { 'Set-Cookie': null } }),
  ),
  row(
    'a WebSocket upgrade is treated as a GET',
    {
      method: 'GET',
      headers: {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Version': '13',
      },
    },
    refused(400, -32600),
  ),

  // Sizes and codings
  row('a body of exactly the limit is served', padded(limit).wire, said(1, padded(limit).text)),
  row('a body of one byte more is too large', padded(limit + 1).wire, refused(413, -32600)),
  row(
    'a chunked body of exactly the limit is served',
    inChunks(padded(limit).wire, 9_999),
    said(1, padded(limit).text),
  ),
  row('a chunked body of one byte more is too large', inChunks(padded(limit + 1).wire, 9_999), refused(413, -32600)),
  row('ten megabytes are too large', padded(10 * limit).wire, refused(413, -32600)),
  row('ten megabytes in chunks are too large', inChunks(padded(10 * limit).wire, 99_999), refused(413, -32600)),
  row('ten megabytes of blanks are too large', post(' '.repeat(10 * limit)), refused(413, -32600)),
  row(
    'a length beyond the limit is refused though the body never comes',
    raw([`Content-Length: ${2 * limit}`], '{}'),
    refused(413, -32600),
  ),
  row(
    'a compressed body is refused',
    post(Buffer.from('1f8b0800000000000003010000ffff0000000000000000', 'hex'), { 'Content-Encoding': 'gzip' }),
    refused(415, -32600),
  ),
  row(
    'an uncompressed body with Content-Encoding gzip is refused',
    discoverWith({ 'Content-Encoding': 'gzip' }),
    refused(415, -32600),
  ),
  row('a body with Content-Encoding identity is served', discoverWith({ 'Content-Encoding': 'identity' }), discovered),

  // Methods and paths
  ...['PUT', 'PATCH', 'TRACE', 'PROPFIND'].map((method) =>
    row(`${method} is not allowed`, { method, body: '{}' }, notAllowed(mcpMethods)),
  ),
  row('HEAD is not allowed and has no body', { method: 'HEAD' }, empty(405, { Allow: mcpMethods })),
  row('POST to /sse is not allowed', { path: '/sse', body: '{}' }, notAllowed('GET, OPTIONS')),
  row('DELETE of /sse is not allowed', { method: 'DELETE', path: '/sse' }, notAllowed('GET, OPTIONS')),
  row('GET of /messages is not allowed', { method: 'GET', path: '/messages' }, notAllowed('POST, OPTIONS')),
  row('PUT to /messages is not allowed', { method: 'PUT', path: '/messages', body: '{}' }, notAllowed('POST, OPTIONS')),
  unreached('a method that HTTP does not have', { method: 'MCP', body: '{}' }, 501),
  unreached('a method in small letters', { method: 'post', body: '{}' }, 501),
  unreached('CONNECT', { method: 'CONNECT' }, 500),
  unreached('OPTIONS of the whole host', { method: 'OPTIONS', path: '*' }, 500),
  unreached('a path with a space', { ...discover, path: '/m cp' }),
  ...['//mcp', '/MCP', '/mcp%00', '/mcp%E0%A4%A', '/mcp/more', '/..%2fmcp', `/${'a'.repeat(9_000)}`].map((path) =>
    row(
      `${path.slice(0, 20)} is not found, with CORS headers`,
      withHeaders({ ...discover, path }, { Origin: 'http://localhost:1' }),
      { status: 404, text: 'Not found. The MCP endpoint is /mcp\n' },
    ),
  ),
  row('a path with ".." is resolved', { ...discover, path: '/a/../mcp' }, discovered),
  row('a query changes nothing', { ...discover, path: '/mcp?__proto__=x&constructor=y&%' }, discovered),
  row('an absolute URL as path is served by its path', { ...discover, path: 'http://localhost/mcp' }, discovered),
]
