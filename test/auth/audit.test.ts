import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AuditEvent, audit } from '../../worker/plugins/observe/audit/index.ts'
import { connect, everyRevision } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { AuthorizationServer } from './authorization-server.ts'

type Point = { indexes: string[]; blobs: string[]; doubles: number[] }
type Told = { events: AuditEvent[]; points: Point[] }

const all = 'notes:write notes:read prompts'

let issuer: AuthorizationServer
let server: TestServer
/** Every credential that was sent. */
const credentials: string[] = []
/** Everything that was told, as text. */
let written = ''

beforeAll(async () => {
  issuer = await AuthorizationServer.start()
  server = await startServer('test/auth/audited', { ISSUER: issuer.issuer })
})
beforeEach(() => fetch(new URL('/audited', server.url), { method: 'DELETE' }))
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await issuer[Symbol.asyncDispose]()
})

async function tokenFor(scope: string, claims = {}): Promise<string> {
  const token = await issuer.token(server.url.href, { scope, ...claims })
  credentials.push(token)
  return token
}

/** What has been told since the test began, as soon as it is so much. */
async function told(count: number): Promise<Told> {
  let found: Told = { events: [], points: [] }
  const ask = async () => {
    const text = await (await fetch(new URL('/audited', server.url))).text()
    written += text
    found = JSON.parse(text)
    return found.events.length
  }
  await expect.poll(ask, { interval: 5 }).toBe(count)
  return found
}

const logs = () => server.harness.getLogs().map(({ message }) => message)

async function onlyEvent(): Promise<AuditEvent> {
  const { events } = await told(1)
  return events[0] as AuditEvent
}

const call = (name: string, args = {}, id = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})

const enveloped = (message: ReturnType<typeof call>) => ({
  ...message,
  params: {
    ...message.params,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
})

const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
const usual = { ...json, 'User-Agent': 'curious/1.0', 'CF-Ray': '8f2a-FRA', 'CF-Connecting-IP': '203.0.113.7' }

const post = (message: unknown, headers: Record<string, string> = {}, path = '/mcp') =>
  fetch(new URL(path, server.url), {
    method: 'POST',
    headers: { ...usual, ...headers },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  })

/** A call of a client without sessions. */
const postAlone = (name: string, args = {}, headers: Record<string, string> = {}, path?: string) =>
  post(
    enveloped(call(name, args)),
    { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': name, ...headers },
    path,
  )

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
/** `ctx.session.id`: the first 16 characters after the id of the key. */
const loggedId = (session: string) => session.split('.')[1]?.slice(0, 16)
const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const ada = () => ({ issuer: issuer.issuer, subject: 'ada', client: 'client' })
const write = { method: 'tools/call', name: 'write' }

/** What all events of `post` have in common. */
const circumstances = {
  at,
  address: '203.0.113.7',
  omitted: 0,
  http: { method: 'POST', path: '/mcp' },
  request: '8f2a-FRA',
  userAgent: 'curious/1.0',
}

describe('a refused request is audited', () => {
  test.each(['/mcp', '/mcp/'])('without a token at %s', async (path) => {
    expect((await postAlone('write', { text: 'confidential' }, {}, path)).status).toBe(401)
    expect(await onlyEvent()).toEqual({
      ...circumstances,
      outcome: 'refused',
      status: 401,
      reason: { kind: 'unauthorized', message: 'Authorization is required: send a bearer token' },
      targets: [],
      scopes: [],
    })
  })

  test('with a token for another audience', async () => {
    const token = await tokenFor(all, { aud: 'https://other.example.com' })
    expect((await postAlone('write', {}, bearer(token))).status).toBe(401)
    const { status, reason, principal } = await onlyEvent()
    expect([status, reason?.kind, principal]).toEqual([401, 'unauthorized', undefined])
  })

  test('with a token that lacks a scope', async () => {
    const token = await tokenFor('notes:read', { org_id: 'acme' })
    const response = await postAlone('write', { text: 'confidential' }, bearer(token))
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32600 } })
    expect(await onlyEvent()).toEqual({
      ...circumstances,
      outcome: 'refused',
      status: 403,
      reason: { kind: 'insufficient_scope', message: 'Requires the scopes notes:write' },
      principal: { ...ada(), tenant: 'acme' },
      targets: [write],
      scopes: ['notes:write'],
    })
  })

  test('from an origin that is not allowed', async () => {
    const headers = { ...bearer(await tokenFor(all)), Origin: 'https://evil.example.com' }
    expect((await postAlone('write', {}, headers)).status).toBe(403)
    const { status, reason } = await onlyEvent()
    expect([status, reason]).toEqual([
      403,
      { kind: 'forbidden', message: 'This origin is not allowed: add it to the option origins' },
    ])
  })

  test('with an unknown session id, of which the event has a part only', async () => {
    const session = 'key.a-session-of-somebody-else'
    credentials.push(session)
    const headers = { ...bearer(await tokenFor(all)), 'Mcp-Session-Id': session }
    const response = await post(call('write', { text: 'confidential' }), headers)
    expect(response.status).toBe(404)
    const refused = { code: -32600, message: 'Session not found: send initialize again' }
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, error: refused })
    expect(await onlyEvent()).toEqual({
      ...circumstances,
      outcome: 'refused',
      status: 404,
      reason: { kind: 'session_not_found', message: refused.message },
      principal: ada(),
      targets: [write],
      scopes: ['notes:write'],
      session: loggedId(session),
    })
  })

  test.each(['/messages', '/messages/'])('with an unknown HTTP+SSE session id at %s', async (path) => {
    const session = 'key.another-session-of-somebody-else'
    credentials.push(session)
    const headers = bearer(await tokenFor(all))
    expect((await post(call('write'), headers, `${path}?session=${session}`)).status).toBe(404)
    const { reason, session: id, http } = await onlyEvent()
    expect([reason?.kind, id, http]).toEqual([
      'session_not_found',
      loggedId(session),
      { method: 'POST', path: '/messages' },
    ])
  })

  test.each<[string, number, string, string, RequestInit & { path?: string }]>([
    ['of an answer in no form there is', 406, 'not_acceptable', 'Accept must include', { headers: { Accept: 'a/b' } }],
    ['of a body that is too large', 413, 'content_too_large', 'The body is larger', { body: ' '.repeat(20_000) }],
    ['of a body that is not JSON', 400, 'parse_error', 'The body is not valid', { body: '{' }],
    ['of a body of another type', 415, 'unsupported_media_type', 'Cont', { headers: { 'Content-Type': 'text/xml' } }],
    [
      'of a message that needs a session',
      400,
      'invalid_request',
      'Missing header Mcp-Session-Id',
      { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'info' } }) },
    ],
    [
      'with an unknown protocol version',
      400,
      'unsupported_version',
      'Unsupported protocol version 1999',
      { headers: { 'MCP-Protocol-Version': '1999', 'Mcp-Session-Id': 'any' } },
    ],
    ['with the HTTP method PUT', 405, 'method_not_allowed', 'Use GET', { method: 'PUT' }],
    ['with an unknown URL', 404, 'not_found', 'HTTP 404', { path: '/nowhere' }],
  ])('%s', async (_, status, kind, message, { path = '/mcp', headers, ...init }) => {
    const response = await fetch(new URL(path, server.url), {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
      headers: { ...usual, ...bearer(await tokenFor(all)), ...(headers as Record<string, string>) },
      ...init,
    })
    expect(response.status).toBe(status)
    expect(await response.text()).not.toBe('')
    const event = await onlyEvent()
    expect(event).toMatchObject({ outcome: 'refused', status, reason: { kind } })
    expect(event.reason?.message).toMatch(new RegExp(`^${message}`))
    expect(event.http?.path).toBe(path === '/mcp' ? '/mcp' : undefined)
  })

  test.each<[string, string, Record<string, string>]>([
    ['alone', '/mcp', { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'resources/read' }],
    ['in a session', '/mcp', { 'Mcp-Session-Id': 'a-session-that-is-not-opened' }],
    ['over HTTP+SSE', '/messages?session=not-opened', {}],
  ])('with a message that exceeds a bound, by its method and URI: %s', async (_, path, headers) => {
    const uri = `note://${'7'.repeat(10_000)}`
    const { status } = await post(
      { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } },
      { ...bearer(await tokenFor(all)), ...headers },
      path,
    )
    expect(status).toBe(400)
    expect(await onlyEvent()).toMatchObject({
      outcome: 'refused',
      status: 400,
      reason: { kind: 'out_of_bounds', message: 'params.uri has 10007 characters: this server accepts at most 8192' },
      principal: ada(),
      targets: [{ method: 'resources/read', uri: `${uri.slice(0, 199)}…` }],
      scopes: [],
    })
  })

  test('with an unsupported protocol version, by its method', async () => {
    const headers = { ...bearer(await tokenFor(all)), 'MCP-Protocol-Version': '1999' }
    expect((await post(call('write'), headers)).status).toBe(400)
    expect(await onlyEvent()).toMatchObject({ reason: { kind: 'unsupported_version' }, targets: [write] })
  })

  test('from a caller that exceeds its rate limit', async () => {
    const response = await postAlone('busy', {}, bearer(await tokenFor(all)))
    expect([response.status, response.headers.get('Retry-After')]).toEqual([429, '7'])
    expect(await onlyEvent()).toMatchObject({
      status: 429,
      reason: { kind: 'too_many_requests', message: 'Come back later' },
      principal: ada(),
      targets: [{ method: 'tools/call', name: 'busy' }],
    })
  })

  test('when serving the call finds that a scope is missing', async () => {
    const response = await postAlone('write', { text: 'confidential' }, {}, '/behind/mcp')
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ error: { data: { scopes: ['notes:write'] } } })
    const { address: _, ...rest } = circumstances
    expect(await onlyEvent()).toEqual({
      ...rest,
      outcome: 'refused',
      status: 403,
      reason: { kind: 'insufficient_scope', message: 'Requires the scopes notes:write' },
      principal: { issuer: 'provider', subject: 'bob' },
      targets: [write],
      scopes: ['notes:write'],
      http: { method: 'POST', path: '/behind/mcp' },
    })
  })

  test('when one message of a batch is refused and the rest is served', async () => {
    const batch = [call('look', {}, 1), call('write', { text: 'a' }, 2)]
    const response = await post(batch, { 'MCP-Protocol-Version': '2025-03-26' }, '/behind/mcp')
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject([{ result: {} }, { error: {} }])
    expect(await onlyEvent()).toMatchObject({
      outcome: 'refused',
      status: 200,
      reason: { kind: 'insufficient_scope' },
      targets: [write],
    })
  })

  test('with the first 50 messages of its batch, and the number of those omitted', async () => {
    const batch = Array.from({ length: 60 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'prompts/get', params: {} }))
    await post([call('write'), ...batch], bearer(await tokenFor('')))
    const { targets, omitted } = await onlyEvent()
    expect([targets[0], targets[49], targets.length, omitted]).toEqual([write, { method: 'prompts/get' }, 50, 11])
  })
})

describe.each([...everyRevision.map((revision) => ({ revision, sse: false })), { revision: '2024-11-05', sse: true }])(
  'a client of $revision, over HTTP+SSE: $sse',
  ({ revision, sse }) => {
    test('causes an event for each use of an entry with scopes, and for nothing else', async () => {
      const token = await tokenFor(all, { org_id: 'acme', email: 'ada@example.com' })
      await using client = await connect(server.url, { revision, sse, token })
      const { session } = client
      if (session) credentials.push(session)
      const steps: [() => Promise<unknown>, AuditEvent['targets'][number]?, string?][] = [
        [() => client.callTool('look')],
        [() => client.callTool('write', { text: 'confidential' }), write, 'notes:write'],
        [() => client.request('resources/read', { uri: 'open://all' })],
        [
          () => client.request('resources/read', { uri: 'note://7' }),
          { method: 'resources/read', uri: 'note://7' },
          'notes:read',
        ],
        [
          () => client.request('prompts/get', { name: 'secret', arguments: { name: 'confidential' } }),
          { method: 'prompts/get', name: 'secret' },
          'prompts',
        ],
        [
          () => complete({ type: 'ref/prompt', name: 'secret' }, 'name'),
          { method: 'completion/complete', name: 'secret' },
          'prompts',
        ],
        [
          () => complete({ type: 'ref/resource', uri: 'note://{id}' }, 'id'),
          { method: 'completion/complete', uri: 'note://{id}' },
          'notes:read',
        ],
        [() => client.request('tools/list')],
        // A prompt has this name, but nobody asks for one.
        [() => client.request('resources/list', { name: 'secret' })],
        [
          () => client.subscribe({ resourceSubscriptions: ['note://7', 'open://all'] }),
          { method: session ? 'resources/subscribe' : 'subscriptions/listen', uri: 'note://7' },
          'notes:read',
        ],
      ]
      const expected = steps.flatMap(([, what, scope]) => (what && scope ? [{ targets: [what], scopes: [scope] }] : []))
      for (const [index, [step]] of steps.entries()) {
        await step()
        await told(steps.slice(0, index + 1).filter(([, what]) => what).length)
      }
      const { events } = await told(expected.length)
      expect(events).toEqual(
        expected.map((each) => ({
          ...each,
          at,
          outcome: 'allowed',
          status: sse ? 202 : 200,
          principal: { ...ada(), tenant: 'acme' },
          omitted: 0,
          http: { method: 'POST', path: sse ? '/messages' : '/mcp' },
          ...(session && { session: loggedId(session) }),
          address: events[0]?.address,
          userAgent: 'node',
        })),
      )

      function complete(ref: object, name: string) {
        return client.request('completion/complete', { ref, argument: { name, value: 'confidential' } })
      }
    })
  },
)

test('a batch is audited call by call, up to a limit', async () => {
  const token = await tokenFor(all)
  await using client = await connect(server.url, { revision: '2025-03-26', token })
  credentials.push(client.session as string)
  const batch = Array.from({ length: 60 }, (_, id) => call('write', { text: 'confidential' }, id + 100))
  const headers = { ...bearer(token), 'Mcp-Session-Id': client.session as string }
  const response = await post([call('look', {}, 99), ...batch], headers)
  expect(response.status).toBe(200)
  await response.text()
  const { events } = await told(50)
  expect(events.every(({ targets }) => targets.length === 1 && targets[0]?.name === 'write')).toBe(true)
  expect(events.map(({ omitted }) => omitted).sort()).toEqual([...Array(49).fill(0), 10])
})

test('a subscription to resources that the caller may not read is audited, and its other parts are accepted', async () => {
  const token = await tokenFor('')
  await using client = await connect(server.url, { revision: '2026-07-28', token })
  await client.subscribe({ resourceSubscriptions: ['note://7', 'open://all'] })
  expect(await onlyEvent()).toMatchObject({
    outcome: 'refused',
    status: 200,
    reason: { kind: 'insufficient_scope' },
    targets: [{ method: 'subscriptions/listen', uri: 'note://7' }],
  })
})

test('logs no header that the auth names as its credential', async () => {
  const headers = { 'X-Key': 'secret-key-of-bob', 'User-Agent': 'me secret-key-of-bob' }
  await postAlone('write', { text: 'a' }, headers, '/behind/mcp')
  expect(await onlyEvent()).toMatchObject({ principal: { subject: 'bob' }, userAgent: 'me […]' })
})

test('logs values of clients shortened, on one line and without credentials', async () => {
  const token = await tokenFor('')
  const name = `a\u001b[2J\u202e\u2028 ${token} ${'x'.repeat(300)}`
  await post([call(name), { ...call('write', {}, 2), method: token }], {
    ...bearer(token),
    'User-Agent': `me ${token}`,
    'CF-Ray': token,
    'Mcp-Session-Id': 'unknown',
  })
  const { targets, userAgent, request } = await onlyEvent()
  const [first, second] = targets
  expect(first?.name).toHaveLength(200)
  expect(first?.name).toMatch(/^a\ufffd\[2J\ufffd\ufffd \[…\] x+…$/)
  expect([second?.method, userAgent, request]).toEqual(['[…]', 'me […]', '[…]'])
})

test("an Analytics Engine data point has each field in its place, within the platform's limits", async () => {
  const subject = 'ä'.repeat(90)
  const token = await tokenFor('notes:read', { sub: subject, org_id: 'acme' })
  await postAlone('write', {}, bearer(token))
  await postAlone('write')
  const { points } = await told(2)
  const [refused, unknown] = points as [Point, Point]
  expect(refused).toEqual({
    indexes: ['ä'.repeat(48)],
    blobs: [
      'refused',
      'insufficient_scope',
      'Requires the scopes notes:write',
      issuer.issuer,
      subject,
      'client',
      'acme',
      '203.0.113.7',
      'tools/call',
      'write',
      'notes:write',
      '8f2a-FRA',
      '',
      'curious/1.0',
      'POST',
      '/mcp',
      '',
    ],
    doubles: [403, 1],
  })
  expect(unknown.indexes).toEqual(['203.0.113.7'])
  expect(unknown.doubles).toEqual([401, 0])
})

test('a log line is JSON, and a refused request is logged as a warning', async () => {
  written += logs().join('\n')
  server.harness.clearLogs()
  await postAlone('write', { text: 'confidential' }, bearer(await tokenFor(all)))
  await postAlone('write', { text: 'confidential' })
  const { events } = await told(2)
  const levels = new Map([
    ['allowed', 'log'],
    ['refused', 'warn'],
  ])
  const lines = () =>
    server.harness
      .getLogs()
      .filter(({ message }) => message.startsWith('{"audit":'))
      .map(({ level, message }) => ({ level, ...JSON.parse(message) }))
  await expect
    .poll(lines)
    .toEqual(expect.arrayContaining(events.map((audit) => ({ level: levels.get(audit.outcome), audit }))))
  expect(lines()).toHaveLength(2)
})

test.each(['This sink is broken', 'This sink breaks later', 'analyticsEngineSink() found no dataset'])(
  'the error of a sink does not fail the request, and is logged: %s',
  async (problem) => {
    const reported = () => logs().filter((message) => message.includes(problem)).length
    const before = reported()
    const response = await postAlone('write', { text: 'a' }, bearer(await tokenFor(all)))
    expect(await response.json()).toMatchObject({ result: { content: [{ text: 'wrote a' }] } })
    await told(1)
    await expect.poll(reported).toBe(before + 1)
  },
)

test('audit() without a sink is an error at startup', () => {
  const message = '"sinks" of audit() must be a sink such as consoleSink() returns, or a list of sinks, not'
  expect(() => audit({ sinks: [] })).toThrow(`${message} []`)
  expect(() => audit({} as never)).toThrow(`${message} undefined`)
})

test('no credential, argument or claim occurs in what these tests logged', () => {
  const everything = [written, ...logs()].join('\n')
  expect(credentials.length).toBeGreaterThan(20)
  expect(written.length).toBeGreaterThan(10_000)
  for (const secret of [...credentials, 'confidential', 'ada@example.com']) expect(everything).not.toContain(secret)
})
