/**
 * Bodies that are not JSON, and JSON that nobody sends who means well.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8259
 */
import { expect } from 'vitest'
import {
  answered,
  declaring,
  envelope,
  failed,
  inSession,
  post,
  type Row,
  refused,
  request,
  row,
  said,
  stateless,
  type Wire,
} from './hostile-row.ts'

const text = stateless('server/discover').body as string
const discover = (body: string | Uint8Array): Wire => ({ ...stateless('server/discover'), body })
const discovered = answered(1, { supportedVersions: ['2026-07-28'] })

/** A tool call with these bytes in the middle of its argument. */
function echoing(bytes: readonly number[], start = ''): Wire {
  const wire = stateless('tools/call', { name: 'echo', arguments: { text: '@' } })
  const [before = '', after = ''] = String(wire.body).split('@')
  return { ...wire, body: Buffer.concat([Buffer.from(start + before), Buffer.from(bytes), Buffer.from(after)]) }
}

const echoInSession = (text: string) => inSession(request('tools/call', { name: 'echo', arguments: { text } }))

/** A tool call with params written exactly so, before their `_meta`. */
const calling = (name: string, params: string, id = '1', meta = envelope()): Wire => ({
  ...stateless('tools/call', { name }),
  body: `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}",${params},"_meta":${JSON.stringify(meta)}}}`,
})

// Depth. The arguments of a call are three levels down: body, params, arguments.

const nest = (open: string, close: string, levels: number) => open.repeat(levels) + close.repeat(levels)
const arrays = (levels: number) => `"arguments":{"deep":${nest('[', ']', levels - 3)}}`
const objects = (levels: number) => `"arguments":${nest('{"a":', '}', levels - 2).replace(':}', ':0}')}`
const mixed = (levels: number) => `"arguments":{"deep":${nest('[{"a":', '}]', (levels - 3) / 2).replace(':}', ':0}')}}`

export const bodies: Row[] = [
  // Not JSON
  ...Object.entries({
    'an empty body': '',
    'a body of blanks': '   \r\n\t ',
    'a truncated body': text.slice(0, -1),
    'a body with something after it': `${text}x`,
    'two messages, one a line': `${text}\n${text}`,
    NaN: '{"jsonrpc":"2.0","id":NaN,"method":"ping"}',
    Infinity: '{"jsonrpc":"2.0","id":Infinity,"method":"ping"}',
    'a comment': '{"jsonrpc":"2.0",/* one */"id":1,"method":"ping"}',
    'a trailing comma': '{"jsonrpc":"2.0","id":1,"method":"ping",}',
    'a body in single quotes': "{'jsonrpc':'2.0','id':1,'method':'ping'}",
    'a raw line break in a string': '{"jsonrpc":"2.0","id":"\n","method":"ping"}',
    'a leading zero': '{"jsonrpc":"2.0","id":01,"method":"ping"}',
    'a form': 'jsonrpc=2.0&id=1&method=ping',
    'a NUL after the message': `${text}\0`,
  }).map(([what, body]) => row(`${what} cannot be parsed`, post(body), refused(400, -32700))),
  ...Object.entries({
    'a hundred thousand open lists': '['.repeat(100_000),
    'a hundred thousand open objects': '{"a":'.repeat(100_000),
  }).map(([what, body]) => row(`${what} are too deep`, post(body), refused(400, -32600))),

  // Not UTF-8
  row('one byte order mark is skipped', discover(`\ufeff${text}`), discovered),
  row(
    'one byte order mark before a replacement character is skipped',
    discover(`\ufeff${text.replace(/\{/, '{"\ufffd":"\ufffd",')}`),
    discovered,
  ),
  ...Object.entries({
    'a lone byte and a truncated sequence': [0xe4, 0x20, 0xe4, 0xb8],
    'three truncated sequences': [0xe4, 0xb8, 0x20, 0xe4, 0xb8, 0x20, 0xe4, 0xb8],
    'a truncated four-byte character': [0xf0, 0x9f, 0x98],
  }).map(([what, bytes]) =>
    row(`${what} behind one byte order mark cannot be parsed`, echoing(bytes, '\ufeff'), refused(400, -32700)),
  ),
  row('a second one cannot be parsed', discover(`\ufeff\ufeff${text}`), refused(400, -32700)),
  row('UTF-16 with its mark cannot be parsed', discover(Buffer.from(`\ufeff${text}`, 'utf16le')), refused(400, -32700)),
  row('UTF-16 without its mark cannot be parsed', discover(Buffer.from(text, 'utf16le')), refused(400, -32700)),
  row(
    'UTF-16 the other way round cannot be parsed',
    discover(Buffer.from(`\ufeff${text}`, 'utf16le').swap16()),
    refused(400, -32700),
  ),
  ...Object.entries({
    'Latin-1': [0xe4],
    'a lone continuation byte': [0x80],
    'a truncated sequence': [0xe4, 0xb8],
    'an overlong slash': [0xc0, 0xaf],
    'a surrogate in UTF-8': [0xed, 0xa0, 0x80],
    'a code point beyond the last': [0xf4, 0x90, 0x80, 0x80],
    'a truncated four-byte character': [0xf0, 0x9f, 0x98],
    'a four-byte character beside a lone byte': [0xf0, 0x9f, 0x98, 0x80, 0x80],
  }).map(([what, bytes]) => row(`${what} cannot be parsed`, echoing(bytes), refused(400, -32700))),
  row('a replacement character is accepted', echoing([0xef, 0xbf, 0xbd]), said(1, '\ufffd')),

  // JSON, but no message
  ...['null', 'true', '42', '"ping"', '{}', '[null]', '[1,"a",true]'].map((body) =>
    row(`${body} is not a message`, post(body), refused(400, -32600)),
  ),

  // The same member twice
  row('the last of two ids counts', discover(text.replace('"id":1', '"id":"first","id":"last"')), answered('last')),
  row(
    'the last of two methods counts, for the headers as well',
    discover(text.replace('"method":', '"method":"tools/list","method":')),
    discovered,
  ),

  // Depth
  row('lists 128 levels deep are read', calling('region', arrays(128)), said(1, '{}')),
  row('lists 129 levels deep are too deep', calling('region', arrays(129)), refused(400, -32600)),
  row('objects 128 levels deep are read', calling('region', objects(128)), said(1, '{}')),
  row('objects 129 levels deep are too deep', calling('region', objects(129)), refused(400, -32600)),
  row('objects in lists 129 levels deep are too deep', calling('region', mixed(129)), refused(400, -32600)),
  row('lists 100,000 levels deep are too deep', calling('region', arrays(100_000), '"x"'), refused(400, -32600)),
  row('objects 100,000 levels deep are too deep', calling('region', objects(100_000), '"x"'), refused(400, -32600)),
  row('a body that is only depth is too deep', post(nest('[', ']', 100_000)), refused(400, -32600)),
  row(
    'an id that is only depth is not repeated',
    discover(text.replace('1', nest('[', ']', 9_999))),
    refused(400, -32600),
  ),
  row(
    'lists 128 levels deep reach a session',
    inSession(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"region",${arrays(128)}}}`),
    said(1, '{}'),
  ),

  // Names that mean something to JavaScript
  row(
    '__proto__ in a message gives it no members',
    post('{"jsonrpc":"2.0","__proto__":{"id":1,"method":"ping"}}'),
    refused(400, -32600),
  ),
  row(
    '__proto__ in params gives them no members',
    inSession('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"__proto__":{"name":"nothing"}}}'),
    refused(200, -32602, 1),
  ),
  row(
    '__proto__ in arguments gives them no members',
    calling('region', '"arguments":{"__proto__":{"region":"x"},"constructor":1}'),
    said(1, '{}'),
  ),
  row(
    '__proto__ in arguments gives them no members in a session',
    inSession(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"__proto__":{"text":"x"}}}}',
    ),
    failed(1, expect.stringContaining('text')),
  ),
  row(
    '__proto__ among capabilities declares no capability',
    async (stage) =>
      post(request('tools/call', { name: 'can' }), {
        'Mcp-Session-Id': await stage.session('2025-11-25', JSON.parse('{"__proto__":{"elicitation":{}}}')),
      }),
    said(1, expect.stringContaining('"elicitation":false')),
  ),
  row(
    '__proto__ among input responses is ignored',
    calling(
      'ask_name',
      '"inputResponses":{"__proto__":{"name":{"action":"accept","content":{"name":"x"}}}}',
      '1',
      declaring({ elicitation: {} }),
    ),
    answered(1, { resultType: 'input_required' }),
  ),
  ...['constructor', '__proto__', 'toString'].flatMap((name) => [
    row(`a method ${name} is not found`, stateless(name), refused(404, -32601, 1)),
    row(`a method ${name} is not found in a session`, inSession(request(name)), refused(200, -32601, 1)),
    row(`a tool ${name} is unknown`, stateless('tools/call', { name }), refused(200, -32602, 1)),
    row(`a prompt ${name} is unknown`, stateless('prompts/get', { name }), refused(200, -32602, 1)),
  ]),

  // Half a character
  row(
    'a lone surrogate comes back as it was',
    stateless('tools/call', { name: 'echo', arguments: { text: 'a\ud800b' } }),
    said(1, 'a\ud800b'),
  ),
  row('a lone surrogate comes back from a session', echoInSession('a\udc00b'), said(1, 'a\udc00b')),
  row('a lone surrogate is an id', stateless('server/discover', {}, {}, '\ud800'), answered('\ud800')),
  row('a lone surrogate is an id in a session', inSession(request('ping', {}, { id: '\udfff' })), answered('\udfff')),
  row('a lone surrogate is an unknown method', inSession(request('\ud800')), refused(200, -32601, 1)),
  row(
    'a lone surrogate is an unknown tool',
    inSession(request('tools/call', { name: '\ud800' })),
    refused(200, -32602, 1),
  ),
  row(
    'a lone surrogate is an invalid cursor',
    inSession(request('tools/list', { cursor: '\ud800' })),
    refused(200, -32602, 1),
  ),
  ...['resources/read', 'resources/subscribe'].map((method) =>
    row(
      `a lone surrogate in a URI is not found by ${method}`,
      inSession(request(method, { uri: 'note://\ud800' })),
      refused(200, -32002, 1),
    ),
  ),

  // Size of one member
  row(
    'a text of 900,000 letters comes back from a session',
    echoInSession('x'.repeat(900_000)),
    said(1, 'x'.repeat(900_000)),
  ),
  row(
    'a tool named with 1,000 quotes is unknown',
    inSession(request('tools/call', { name: '"'.repeat(1_000) })),
    refused(200, -32602, 1),
  ),
  row(
    'a tool named with 400,000 quotes is refused',
    inSession(request('tools/call', { name: '"'.repeat(400_000) })),
    refused(400, -32602, 1),
  ),
  row(
    'a number that overflows cannot be added',
    calling('add', '"arguments":{"a":1e400,"b":1}'),
    failed(1, expect.stringContaining('a:')),
  ),
]
