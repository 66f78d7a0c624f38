/**
 * Accept, Content-Type, Origin and Host.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */
import {
  answered,
  type Headers,
  inSession,
  type Outcome,
  post,
  type Row,
  refused,
  request,
  row,
  stateless,
  type Wire,
} from './hostile-row.ts'

const discover = (headers: Headers) => stateless('server/discover', {}, headers)
const discovered = answered(1, { supportedVersions: ['2026-07-28'] })
const evil = 'http://evil.example'
/** Not by the page that asked. */
const unreadable = { headers: { 'Access-Control-Allow-Origin': null, Vary: 'Origin' } }

const asStream = (outcome: Outcome): Outcome => ({ ...outcome, headers: { 'Content-Type': 'text/event-stream' } })
const readableBy = (origin: string) => ({ headers: { 'Access-Control-Allow-Origin': origin, Vary: 'Origin' } })

const acceptPost = (Accept: string | undefined) => discover({ Accept })

export const headers: Row[] = [
  // Accept
  ...[undefined, '*/*', 'application/json', 'application/*', 'APPLICATION/JSON; charset=utf-8; q=0.1'].map((Accept) =>
    row(`an Accept of ${Accept} is answered with JSON`, acceptPost(Accept), {
      ...discovered,
      headers: { 'Content-Type': 'application/json' },
    }),
  ),
  ...['text/event-stream', 'text/*', 'application/json;q=0, text/event-stream'].map((Accept) =>
    row(`an Accept of ${Accept} is answered with a stream`, acceptPost(Accept), asStream(discovered)),
  ),
  row(
    'an Accept of text/event-stream is answered with a stream in a session too',
    inSession(request('ping'), { Accept: 'text/event-stream' }),
    asStream(answered(1)),
  ),
  row(
    'an unknown method has the status 404 for a client that accepts streams only',
    stateless('tools/forget', {}, { Accept: 'text/event-stream' }),
    refused(404, -32601, 1),
  ),
  ...['text/html', 'garbage', 'application/json;q=0', 'application/jsonp', ';;,,'].map((Accept) =>
    row(`an Accept of ${Accept} cannot be met`, acceptPost(Accept), refused(406, -32600, 1)),
  ),
  row(
    'an Accept of text/html cannot be met in a session',
    inSession(request('ping'), { Accept: 'text/html' }),
    refused(406, -32600, 1),
  ),
  row('invalid JSON is refused with any Accept', post('{', { Accept: 'text/html' }), refused(400, -32700)),
  row(
    'a GET stream is refused for a client that does not accept streams',
    async (stage) => ({
      method: 'GET',
      headers: { Accept: 'application/json', 'Mcp-Session-Id': await stage.shared('2025-11-25') },
    }),
    refused(406, -32600),
  ),
  row(
    'subscriptions/listen is refused for a client that does not accept streams',
    stateless('subscriptions/listen', { notifications: { toolsListChanged: true } }, { Accept: 'application/json' }),
    refused(406, -32600, 1),
  ),
  row(
    'an input request is refused for a session client that does not accept streams',
    async (stage) =>
      post(request('tools/call', { name: 'ask_name' }), {
        'Mcp-Session-Id': await stage.session('2025-11-25', { elicitation: {} }),
        Accept: 'application/json',
      }),
    refused(406, -32600, 1),
  ),

  // Content-Type
  ...[
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ; v=1',
  ].map((type) => row(`a body of the type ${type} is read`, discover({ 'Content-Type': type }), discovered)),
  ...[
    undefined,
    '',
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'application/json-rpc',
    'application/json; charset=utf-16',
    'application/json, text/plain',
    'application',
  ].map((type) =>
    row(`a body of the type ${type} is not read`, discover({ 'Content-Type': type }), refused(415, -32600)),
  ),

  // Origin
  ...[
    evil,
    'null',
    'garbage',
    'http://',
    'file://',
    'data:text/html,x',
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    'http://evil.example/localhost',
    'http://evil.example:1@localhost.evil',
    'http://localhost, http://evil.example',
    'http://0.0.0.0',
    `http://${'a'.repeat(5_000)}`,
  ].map((Origin) =>
    row(
      `a page of ${Origin.slice(0, 40)} may not call, nor read the response`,
      discover({ Origin }),
      refused(403, -32600, undefined, unreadable),
    ),
  ),
  ...[
    'http://localhost',
    'http://localhost:1',
    'https://localhost:8443',
    'http://127.0.0.1:9',
    'http://[::1]:7',
    'http://app.localhost:3000',
    'HTTP://LOCALHOST/',
  ].map((Origin) =>
    row(`a page of ${Origin} may call`, discover({ Origin }), { ...discovered, ...readableBy(Origin) }),
  ),
  ...Object.entries<Wire>({
    'open a stream': { method: 'GET' },
    'end a session': { method: 'DELETE' },
    'use a method that is not there': { method: 'PUT', body: '{}' },
    'open the stream of 2024': { method: 'GET', path: '/sse' },
    'post to it': { path: '/messages?session=x', body: '{}' },
    'look for what is not there': { method: 'GET', path: '/nothing' },
    'ask whether it may': { method: 'OPTIONS' },
  }).map(([what, wire]) =>
    row(
      `a foreign page may not ${what}`,
      { ...wire, headers: { Origin: evil } },
      refused(403, -32600, undefined, unreadable),
    ),
  ),
  row(
    'a preflight allows known headers, and no invalid header names',
    {
      method: 'OPTIONS',
      headers: {
        Origin: 'http://localhost:9',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'mcp-param-region, x-evil, mcp-param-\xe4, mcp-param-a b, mcp-param-a:b',
      },
    },
    {
      status: 204,
      text: '',
      headers: {
        'Access-Control-Allow-Origin': 'http://localhost:9',
        'Access-Control-Allow-Headers':
          'Accept, Authorization, Content-Type, DPoP, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, traceparent, tracestate, baggage, mcp-param-region',
      },
    },
  ),
  row(
    'a page may read the error for a large body',
    { ...post(' '.repeat(1_000_001)), headers: { Origin: 'http://localhost:1' } },
    refused(413, -32600, undefined, readableBy('http://localhost:1')),
  ),

  // Host
  ...['evil.example', 'evil.example:80', '127.0.0.1.evil.example', 'localhost.evil.example', '0.0.0.0'].map((Host) =>
    row(`the Host ${Host} is not served`, discover({ Host }), refused(403, -32600)),
  ),
  row(
    'a foreign Host is refused for its own page',
    discover({ Host: 'evil.example', Origin: evil }),
    refused(403, -32600),
  ),
  row(
    'a foreign Host is refused for a local page',
    discover({ Host: 'evil.example', Origin: 'http://localhost' }),
    refused(403, -32600),
  ),
  ...['/', '/sse', '/mcp', '/nothing'].map((path) =>
    row(
      `a foreign Host is not served ${path}`,
      { method: 'GET', path, headers: { Host: 'evil.example' } },
      refused(403, -32600),
    ),
  ),
  ...['localhost', 'LOCALHOST:1', '[::1]:9', '127.0.0.1:65535', 'app.localhost'].map((Host) =>
    row(`the Host ${Host} is this machine`, discover({ Host }), discovered),
  ),
  row(
    'forwarding headers are ignored',
    discover({ Forwarded: 'host=evil.example', 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' }),
    discovered,
  ),
]
