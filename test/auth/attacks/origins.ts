/** Pages that call, and what browsers let them read. */
import { type Attack, json, type Seen, type Stage, stream } from './stage.ts'

const read = { name: 'read', arguments: {} }

const good = { status: 200, result: 'read' }

const forbidden = {
  status: 403,
  code: -32600,
  message: 'This origin is not allowed: add it to the option origins',
}

/** A page of this origin that has got hold of a good token. */
const from = (what: string, origin: string | ((stage: Stage) => string), outcome: unknown): Attack => ({
  name: what,
  by: async (stage) => {
    const Origin = typeof origin === 'string' ? origin : origin(stage)
    return stage.ask('tools/call', read, { token: await stage.token(), headers: { Origin } })
  },
  outcome,
  ran: (outcome as Seen).status === 200 ? ['read'] : [],
})

const origins: Attack[] = [
  from('a page that may call', 'https://app.example.com', good),
  from('a page in a sandbox or a file: null', 'null', forbidden),
  from('a foreign page', 'https://evil.example.com', forbidden),
  from('the allowed name as the beginning of another', 'https://app.example.com.evil.com', forbidden),
  from('the allowed name as the end of another', 'https://evil-app.example.com', forbidden),
  from('a name below the allowed one', 'https://x.app.example.com', forbidden),
  from('the name above the allowed one', 'https://example.com', forbidden),
  from('the allowed name as userinfo', 'https://app.example.com@evil.com', forbidden),
  from('the allowed name with another port', 'https://app.example.com:8443', forbidden),
  from('the allowed name over plain http', 'http://app.example.com', forbidden),
  from('the allowed name with a path', 'https://app.example.com/evil', forbidden),
  from('the allowed name with a slash', 'https://app.example.com/', forbidden),
  from('the allowed name with a dot', 'https://app.example.com.', forbidden),
  from('the allowed name with an underscore before the dot', 'https://app_example.com', forbidden),
  from('any character where the allowed name has a dot', 'https://appxexample.com', forbidden),
  from('two origins with a comma', 'https://app.example.com, https://evil.com', forbidden),
  from('two origins with a space', 'https://app.example.com https://evil.com', forbidden),
  from('an origin that is a star', '*', forbidden),
  from('an extension of a browser', 'chrome-extension://abcdefgh', forbidden),
  from('a file', 'file://', forbidden),
  from('this machine as the beginning of a name', 'http://localhost.evil.com', forbidden),
  from('the address of this machine as the beginning of a name', 'http://127.0.0.1.evil.com', forbidden),
  from('this machine as userinfo', ({ server }) => `http://${server.url.host}@evil.com`, forbidden),
  from('this machine as the end of a word', 'http://evillocalhost', forbidden),
  from('the address 0.0.0.0', 'http://0.0.0.0', forbidden),
  from('an IP address of the local network', 'http://192.168.0.1', forbidden),
  {
    name: 'a foreign page without a token gets the same response as one with a token',
    by: (stage) => stage.ask('tools/call', read, { headers: { Origin: 'https://evil.example.com' } }),
    outcome: forbidden,
  },
  ...(['GET', 'DELETE'] as const).map(
    (http): Attack => ({
      name: `a foreign page, by ${http}`,
      by: async (stage) => {
        const token = await stage.token()
        const headers = { ...stream, Origin: 'https://evil.example.com', 'Mcp-Session-Id': await stage.session(token) }
        return stage.send({ token, http, headers })
      },
      outcome: forbidden,
    }),
  ),
  ...(['/sse', '/messages'] as const).map(
    (path): Attack => ({
      name: `a foreign page, at ${path}`,
      by: async (stage) => {
        const http = path === '/sse' ? 'GET' : 'POST'
        return stage.send({
          token: await stage.token(),
          path,
          http,
          headers: { ...json, Origin: 'https://evil.example.com' },
        })
      },
      outcome: forbidden,
    }),
  ),
  {
    name: 'a form of a foreign page, which needs no preflight',
    by: (stage) =>
      stage.send({ headers: { 'Content-Type': 'text/plain', Origin: 'https://evil.example.com' }, body: '{}' }),
    outcome: forbidden,
  },
]

/** What a browser makes of an answer. */
const cors = async (stage: Stage, sent: Parameters<Stage['fetch']>[0]) => {
  const { status, headers } = await stage.fetch(sent).then(async (response) => {
    await response.text()
    return response
  })
  return {
    status,
    origin: headers.get('Access-Control-Allow-Origin'),
    credentials: headers.get('Access-Control-Allow-Credentials'),
    methods: headers.get('Access-Control-Allow-Methods'),
    vary: headers.get('Vary'),
  }
}

const page = 'https://app.example.com'

const readable = { origin: page, credentials: null, methods: null, vary: 'Origin' }

const unreadable = { origin: null, credentials: null, methods: null, vary: 'Origin' }

const ask = (changes: object = {}) => ({
  'Access-Control-Request-Method': 'POST',
  'Access-Control-Request-Headers': 'authorization,content-type',
  ...changes,
})

/** The headers that a preflight allows. */
const allowedHeaders = async (stage: Stage, asked: string) => {
  const response = await stage.fetch({
    http: 'OPTIONS',
    headers: { Origin: page, ...ask({ 'Access-Control-Request-Headers': asked }) },
  })
  return response.headers.get('Access-Control-Allow-Headers')?.toLowerCase().split(', ') ?? []
}

const pages: Attack[] = [
  {
    name: 'an allowed page reads why it is refused, and cookies are not allowed',
    by: (stage) => cors(stage, { headers: { ...json, Origin: page }, body: '{}' }),
    outcome: { status: 401, ...readable },
  },
  {
    name: 'an allowed page reads the challenge for missing scopes',
    by: async (stage) =>
      cors(stage, {
        ...stage.stateless('tools/call', { name: 'write' }, { headers: { Origin: page } }),
        token: await stage.token(),
      }),
    outcome: { status: 403, ...readable },
  },
  {
    name: 'an allowed page reads the error for a malformed token',
    by: (stage) => cors(stage, { headers: { ...json, Origin: page, Authorization: 'Bearer' }, body: '{}' }),
    outcome: { status: 400, ...readable },
  },
  ...(['POST', 'GET', 'DELETE', 'OPTIONS', 'PUT'] as const).map(
    (http): Attack => ({
      name: `a foreign page cannot read its refusal: ${http}`,
      by: (stage) =>
        cors(stage, {
          http,
          headers: { ...json, ...(http === 'OPTIONS' && ask()), Origin: 'https://evil.example.com' },
        }),
      outcome: { status: 403, ...unreadable },
    }),
  ),
  {
    name: 'a page without an origin cannot read its refusal',
    by: (stage) => cors(stage, { headers: { ...json, Origin: 'null' }, body: '{}' }),
    outcome: { status: 403, ...unreadable },
  },
  {
    name: 'a preflight of an allowed page needs no token',
    by: (stage) => cors(stage, { http: 'OPTIONS', headers: { Origin: page, ...ask() } }),
    outcome: { status: 204, ...readable, methods: 'GET, POST, DELETE, OPTIONS' },
  },
  ...(['/sse', '/messages'] as const).map(
    (path): Attack => ({
      name: `a preflight at ${path} needs no token`,
      by: (stage) => cors(stage, { path, http: 'OPTIONS', headers: { Origin: page, ...ask() } }),
      outcome: { status: 204, ...readable, methods: path === '/sse' ? 'GET, OPTIONS' : 'POST, OPTIONS' },
    }),
  ),
  {
    name: 'a preflight for strange methods is answered with the usual ones',
    by: (stage) =>
      cors(stage, { http: 'OPTIONS', headers: { Origin: page, ...ask({ 'Access-Control-Request-Method': 'TRACE' }) } }),
    outcome: { status: 204, ...readable, methods: 'GET, POST, DELETE, OPTIONS' },
  },
  {
    name: 'a preflight for strange headers allows none of them',
    by: async (stage) => {
      const strange = [
        'cookie',
        'x-evil',
        'host',
        'mcp-param-',
        'mcp-paramx',
        'x-mcp-param-a',
        '*',
        'x-forwarded-host',
        'proxy-authorization',
      ]
      const allowed = await allowedHeaders(stage, strange.join(','))
      return strange.filter((name) => allowed.includes(name))
    },
    outcome: [],
  },
  {
    name: 'a preflight with a thousand mirrored headers is answered',
    by: async (stage) =>
      (await allowedHeaders(stage, Array.from({ length: 1_000 }, (_, at) => `mcp-param-${at}`).join(','))).includes(
        'authorization',
      ),
    outcome: true,
  },
]

export const called: Readonly<Record<string, readonly Attack[]>> = { origins, 'what browsers let pages read': pages }
