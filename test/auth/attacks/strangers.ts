/** Requests without a token, for everything there is. */
import { type Attack, anonymous, handshaking, json, newest, type Seen, stream } from './stage.ts'

const read = { name: 'read', arguments: {} }

const requests: Readonly<Record<string, object>> = {
  'server/discover': {},
  'tools/list': {},
  'tools/call': read,
  'resources/list': {},
  'resources/templates/list': {},
  'resources/read': { uri: 'note://fixed' },
  'prompts/list': {},
  'prompts/get': { name: 'secret', arguments: { name: 'a' } },
  'completion/complete': { ref: { type: 'ref/prompt', name: 'secret' }, argument: { name: 'name', value: '' } },
  'subscriptions/listen': { notifications: { toolsListChanged: true } },
  'tasks/get': { taskId: 'a' },
  'no/such/method': {},
  __proto__: {},
}

const older: Readonly<Record<string, object>> = {
  ...requests,
  initialize: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
  ping: {},
  'logging/setLevel': { level: 'debug' },
  'resources/subscribe': { uri: 'note://fixed' },
  'resources/unsubscribe': { uri: 'note://fixed' },
}

/** Bodies that are nothing, and answered the same: nobody looks at them before it is known who asks. */
const bodies: Readonly<Record<string, string>> = {
  'no body': '',
  'no JSON': '{',
  'an empty batch': '[]',
  'a batch': JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'tools/list' }]),
  'a notification': JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
  'a response': JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} }),
  // Short enough that the runtime still reads it after the response: it closes the connection of a longer one.
  'more than limits.maxBodyBytes': `"${'a'.repeat(40_000)}"`,
}

const ofSse = { ...anonymous, challenge: anonymous.challenge?.replace('resource/mcp"', 'resource/sse"') }

const strangers: Attack[] = [
  ...Object.entries(requests).map(
    ([method, params]): Attack => ({
      name: `${newest}: ${method}`,
      by: (stage) => stage.ask(method, params),
      outcome: anonymous,
    }),
  ),
  ...handshaking.map(
    (version): Attack => ({
      name: `${version}: every method, in a session of a principal, gets the same response`,
      by: async (stage) => {
        const session = await stage.session(await stage.token(), version)
        const answers = Object.entries(older).map(async ([method, params]) => {
          const headers = { ...json, 'Mcp-Session-Id': session, 'MCP-Protocol-Version': version }
          return JSON.stringify(
            await stage.send({ headers, body: JSON.stringify({ jsonrpc: '2.0', id: method, method, params }) }),
          )
        })
        return [...new Set(await Promise.all(answers))].map((answer) => JSON.parse(answer))
      },
      outcome: [anonymous],
    }),
  ),
  ...Object.entries(bodies).map(
    ([what, body]): Attack => ({
      name: `${what}: the body is not parsed`,
      by: (stage) => stage.send({ headers: json, body }),
      outcome: anonymous,
    }),
  ),
  {
    name: 'a body of another type is not parsed',
    by: (stage) => stage.send({ headers: { 'Content-Type': 'text/html' }, body: '<html>' }),
    outcome: anonymous,
  },
  ...(['GET', 'DELETE'] as const).map(
    (http): Attack => ({
      name: `${http} of the endpoint, with and without a session`,
      by: async (stage) => [
        await stage.send({ http, headers: stream }),
        await stage.send({
          http,
          headers: { ...stream, 'Mcp-Session-Id': await stage.session(await stage.token()), 'Last-Event-ID': '1-1' },
        }),
      ],
      outcome: [anonymous, anonymous],
    }),
  ),
  {
    name: 'HTTP+SSE: opening a stream',
    by: (stage) => stage.send({ path: '/sse', http: 'GET', headers: stream }),
    outcome: ofSse,
  },
  {
    name: 'HTTP+SSE: posting without a session',
    by: (stage) => stage.send({ path: '/messages', headers: json, body: '{}' }),
    outcome: ofSse,
  },
  {
    name: 'HTTP+SSE: posting with one',
    by: (stage) => stage.send({ path: '/messages?session=a', headers: json, body: '{}' }),
    outcome: ofSse,
  },
  {
    name: 'the responses are the same, byte by byte',
    by: async (stage) => {
      const texts = await Promise.all(
        ['POST', 'GET', 'DELETE'].map(async (http) => (await stage.fetch({ http, headers: json })).text()),
      )
      return [...new Set(texts)]
    },
    outcome: [`{"jsonrpc":"2.0","error":{"code":-32600,"message":"${anonymous.message}"}}`],
  },
  ...['PUT', 'PATCH', 'HEAD'].map(
    (http): Attack => ({
      name: `${http} is refused, with a token or without`,
      by: async (stage) => {
        const [without, withOne] = [await stage.send({ http }), await stage.send({ http, token: await stage.token() })]
        return [without.status, withOne.status]
      },
      outcome: [405, 405],
    }),
  ),
  {
    name: 'TRACE does not give a header back',
    by: async (stage) => {
      const seen = (await stage.raw(
        `TRACE /mcp HTTP/1.1\r\nHost: ${stage.server.url.host}\r\nAuthorization: Bearer ${await stage.token()}\r\nConnection: close\r\n\r\n`,
      )) as Seen
      return seen.status >= 400 && !JSON.stringify(seen).includes('Bearer ey')
    },
    outcome: true,
  },
]

export const anonymously: Readonly<Record<string, readonly Attack[]>> = { 'requests without a token': strangers }
