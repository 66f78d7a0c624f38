import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { events } from '../../worker/client/wire.ts'
import { connect } from '../../worker/testing/index.ts'
import { logText, startServer, type TestServer } from '../support/server.ts'
import { initializeSession, postMessage } from '../support/session-http.ts'
import { statelessHeaders } from '../support/stateless.ts'

type Seen = {
  name: string
  message: string
  stack: boolean
  method: string
  entry: unknown
  id: string
  version: string
}
type Params = Record<string, unknown>
type Reply = {
  text: string
  status: number
  result?: Params & { content?: { text: string }[] }
  error?: { code: number; message: string }
}

/** An API whose paths fail in different ways. */
const failingApi = createServer(({ url }, response) => {
  if (url === '/no_json') response.end('secret text')
})

let server: TestServer
const sessions = new Map<string, Promise<{ session: string }>>()
beforeAll(async () => {
  failingApi.listen(0, '127.0.0.1')
  await once(failingApi, 'listening')
  const { port } = failingApi.address() as AddressInfo // of a TCP server
  server = await startServer('test/errors/server', { API: `http://127.0.0.1:${port}` })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  failingApi.closeAllConnections()
  failingApi.close()
})
beforeEach(async () => {
  await observed()
  server.harness.clearLogs()
})

const eras = ['2026-07-28', '2025-11-25'] as const
type Era = (typeof eras)[number]
type Endpoint = 'message' | 'generic' | 'custom' | 'broken' | 'plain' | 'proxied' | 'proxied-plainly' | 'guarded'

const urlOf = (endpoint: Endpoint) => new URL(`/${endpoint}/mcp`, server.url)

/** Returns what `onError` and interceptors have seen since the last call. */
async function observed(): Promise<{ seen: Seen[]; caught: string[] }> {
  return (await fetch(new URL('/seen', server.url), { method: 'POST' })).json()
}

const log = () => logText(server)

function sessionAt(endpoint: Endpoint): Promise<{ session: string }> {
  const url = urlOf(endpoint)
  const started = sessions.get(url.href) ?? initializeSession(url, '2025-11-25')
  sessions.set(url.href, started)
  return started
}

let lastId = 0
async function post(endpoint: Endpoint, era: Era, method: string, params: Params, search = ''): Promise<Response> {
  const id = ++lastId
  const url = new URL(search, urlOf(endpoint))
  if (era === '2025-11-25') {
    const { session } = await sessionAt(endpoint)
    return postMessage(url, { id, method, params }, session)
  }
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': era,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  }
  const headers = statelessHeaders(method, String(params.name ?? params.uri ?? '') || undefined)
  return fetch(url, {
    method: 'POST',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
  })
}

async function ask(endpoint: Endpoint, era: Era, method: string, params: Params, search?: string): Promise<Reply> {
  const response = await post(endpoint, era, method, params, search)
  const text = await response.text()
  const json = text.startsWith('{') ? text : text.slice(text.lastIndexOf('data: ') + 6)
  return { text, status: response.status, ...JSON.parse(json) }
}

const textOf = ({ result, error }: Reply) => error?.message ?? result?.content?.map(({ text }) => text).join()

describe.each(eras)('a mistake in the configuration, for a client of %s', (era) => {
  const missing = 'This Worker has no Durable Object McpState: export it from the main module'
  test.each([
    ['stateful', missing],
    ['limited', missing],
    ['anonymous', 'The state "own" is not available: the caller is anonymous: give serve() an auth'],
  ])('of the tool "%s" is in the log, and handlerErrors keeps it from clients', async (name, mistake) => {
    for (const endpoint of ['generic', 'custom'] as const) {
      server.harness.clearLogs()
      const { text } = await ask(endpoint, era, 'tools/call', { name, arguments: {} })
      expect(text).not.toMatch(/McpState|wrangler|export|serve\(/)
      expect(text).toMatch(/failed \(error id|Sorry \(|Internal error/)
      await expect.poll(log).toContain(mistake)
    }
    const { text } = await ask('message', era, 'tools/call', { name, arguments: {} })
    expect(JSON.parse(text.slice(text.indexOf('{'))).error.message).toContain(mistake)
  })
})

/** What the model reads by default, and what `onError` receives. Without `seen`, the client caused the error. */
type Row = { tool: string; reads: string | RegExp; seen?: Partial<Seen>; isProtocol?: true; isOwnText?: true }

const failed = 'The tool failed'
const rows: Row[] = [
  { tool: 'error', reads: 'secret message', seen: { name: 'Error', message: 'secret message', stack: true } },
  { tool: 'sync', reads: 'secret, at once', seen: { name: 'Error', message: 'secret, at once', stack: true } },
  { tool: 'later', reads: 'secret, later', seen: { name: 'TypeError', message: 'secret, later', stack: true } },
  { tool: 'string', reads: failed, seen: { name: 'string', message: 'secret text' } },
  { tool: 'object', reads: failed, seen: { name: 'object', message: 'secret object' } },
  { tool: 'like', reads: failed, seen: { name: 'object' } },
  { tool: 'undefined', reads: failed, seen: { name: 'undefined' } },
  { tool: 'null', reads: failed, seen: { name: 'object', message: 'null' } },
  { tool: 'aggregate', reads: 'secret parts', seen: { name: 'AggregateError', message: 'secret parts', stack: true } },
  { tool: 'dom', reads: 'secret operation', seen: { name: 'DataCloneError', message: 'secret operation' } },
  { tool: 'getter', reads: failed, seen: { name: 'hostile' } },
  { tool: 'proxy', reads: failed, seen: { name: 'hostile' } },
  { tool: 'response', reads: failed, seen: { name: 'object' } },
  { tool: 'empty', reads: failed, seen: { name: 'Error', message: '', stack: true } },
  { tool: 'frozen', reads: 'secret frozen', seen: { name: 'Error', message: 'secret frozen', stack: true } },
  { tool: 'recursion', reads: 'Maximum call stack size exceeded', seen: { name: 'RangeError' } },
  { tool: 'bigint', reads: 'Tool "bigint" returned a bigint at secret', seen: { name: 'TypeError' } },
  { tool: 'cycle', reads: 'Tool "cycle" returned a value that has no JSON form', seen: { name: 'TypeError' } },
  { tool: 'deep', reads: 'a value that has no JSON form: it has too many levels', seen: {} },
  { tool: 'map', reads: 'a value of the class Map', seen: { name: 'TypeError' } },
  { tool: 'forgotten', reads: 'a promise that is not awaited at secret', seen: { name: 'TypeError' } },
  { tool: 'toJSON', reads: 'secret toJSON', seen: { name: 'TypeError' } },
  { tool: 'thenable', reads: 'secret then', seen: { name: 'Error', message: 'secret then' } },
  { tool: 'mismatch', reads: 'does not match its output schema', seen: { name: 'Error' } },
  { tool: 'twice', reads: 'The key "secret" is used twice', seen: { name: 'Error' } },
  { tool: 'meta', reads: '"_meta" of the result of tool "meta" has a value that has no', seen: { name: 'TypeError' } },
  { tool: 'size', reads: '"content[0].size" of the result of tool "size" must be', seen: { name: 'TypeError' } },
  { tool: 'kind', reads: 'McpError has no kind "not_found": use parse_error, ', seen: { name: 'TypeError' } },
  { tool: 'inherited', reads: 'McpError has no kind "toString": use ', seen: { name: 'TypeError' } },
  { tool: 'numeric', reads: 'McpError has no kind "-32602": use ', seen: { name: 'TypeError' } },
  { tool: 'foreign', reads: 'MCP error -32602: secret message', seen: { name: 'McpError', stack: true } },
  { tool: 'toolError', reads: 'for the model', isOwnText: true },
  { tool: 'params', reads: 'for the client', isProtocol: true, isOwnText: true },
  { tool: 'data', reads: 'with data', isProtocol: true, isOwnText: true },
  {
    tool: 'internal',
    reads: 'for all',
    isProtocol: true,
    isOwnText: true,
    seen: { name: 'McpError', message: 'for all', stack: true },
  },
  { tool: 'unavailable', reads: 'for all, later', isProtocol: true, isOwnText: true, seen: { name: 'McpError' } },
  { tool: 'hang', reads: 'took longer than 1 seconds', isProtocol: true, isOwnText: true, seen: { name: 'McpError' } },
]

test('the log contains what fetch of proxy() throws, without onError and handlerErrors', async () => {
  const reply = await ask('proxied-plainly', '2026-07-28', 'tools/call', { name: 'x' })
  expect(reply.text).not.toContain('secret')
  await expect.poll(log).toContain('secret of fetch')
})

describe.each(eras)('%s', (era) => {
  test.each(['overridden', 'unreadable'])('an McpError whose kind is %s ends the call', async (name) => {
    const { error } = await ask('plain', era, 'tools/call', { name })
    expect(error).toEqual({ code: -32603, message: 'Internal error' })
    await expect.poll(log).toContain('secret')
  })

  test.each(rows)('the tool "$tool" fails', async ({ tool, reads, seen, isProtocol }) => {
    const reply = await ask('message', era, 'tools/call', { name: tool })
    expect(textOf(reply)).toMatch(reads)
    expect(reply.result?.isError).toBe(isProtocol ? undefined : true)
    const all = await observed()
    expect(all.seen).toEqual(
      seen
        ? [
            expect.objectContaining({
              ...seen,
              method: 'tools/call',
              entry: tool,
              version: era,
              id: expect.stringMatching(/^[0-9a-f]{8}$/),
            }),
          ]
        : [],
    )
  })

  test.each(rows)(
    '"generic" sends nothing of the error of "$tool"',
    async ({ tool, reads, seen, isOwnText, isProtocol }) => {
      const reply = await ask('generic', era, 'tools/call', { name: tool })
      expect(reply.result?.isError).toBe(isProtocol ? undefined : true)
      const all = await observed()
      expect(all.seen).toHaveLength(seen ? 1 : 0)
      if (isOwnText) return expect(textOf(reply)).toMatch(reads)
      const id = all.seen[0]?.id ?? ''
      expect(textOf(reply)).toBe(`The tool "${tool}" failed (error id ${id})`)
      expect(reply.text).not.toMatch(/secret|TypeError|RangeError|stack|index\.ts/)
      await expect.poll(log).toContain(`The tool "${tool}" failed (error id ${id})`)
    },
  )

  test.each<[method: string, params: Params]>([
    ['tools/call', { name: 'x' }],
    ['resources/read', { uri: 'down://x' }],
    ['prompts/get', { name: 'x' }],
  ])('nothing of what fetch of proxy() throws is sent by %s', async (method, params) => {
    const reply = await ask('proxied', era, method, params)
    expect(reply.error).toEqual({
      code: -32603,
      message: 'The server at down.example does not answer',
      data: { reason: 'no response' },
    })
    const { seen } = await observed()
    expect(seen).toMatchObject([{ name: 'McpError', message: reply.error?.message, method, stack: true }])
    await expect.poll(log).toContain('secret of fetch')
  })

  test.each<[method: string, params: Params, subject: string, message: string]>([
    ['resources/read', { uri: 'fail://fixed' }, 'The resource "fail://fixed"', 'secret resource'],
    ['resources/read', { uri: 'fail://wrong' }, 'The resource "fail://wrong"', 'Resource "fail://wrong" returned'],
    ['resources/read', { uri: 'guarded://1' }, 'The resource "guarded://1"', 'secret authorize'],
    ['prompts/get', { name: 'failing' }, 'The prompt "failing"', 'secret prompt'],
    ['prompts/get', { name: 'refining', arguments: { value: 'x' } }, 'The prompt "refining"', 'secret of a schema'],
    ['tools/call', { name: 'refining', arguments: { value: 'x' } }, 'The tool "refining"', 'secret of a schema'],
    ['tools/call', { name: 'hidden' }, 'The tool "hidden"', 'secret visibleTo'],
    ['failing/now', {}, 'The method "failing/now"', 'secret method'],
    [
      'completion/complete',
      { ref: { type: 'ref/resource', uri: 'guarded://{id}' }, argument: { name: 'id', value: '' } },
      'The method "completion/complete"',
      'secret completion',
    ],
  ])('%s %o fails', async (method, params, subject, message) => {
    const byDefault = await ask('message', era, method, params)
    expect(byDefault.error).toMatchObject({ code: -32603 })
    expect(byDefault.error?.message).toMatch(/^Internal error$|^Resource "fail:\/\/wrong" returned/)
    const first = await observed()
    expect(first.seen).toEqual([
      expect.objectContaining({ message: expect.stringContaining(message), stack: true, method }),
    ])

    const generic = await ask('generic', era, method, params)
    const { seen } = await observed()
    expect(generic.error).toMatchObject({ code: -32603, message: `${subject} failed (error id ${seen[0]?.id})` })
    expect(generic.text).not.toContain('secret')
    expect(seen).toHaveLength(1)
  })

  test.each<[method: string, member: string, listed: string, omitted: string[], messages: string[]]>([
    ['tools/list', 'tools', 'fine', ['hidden', 'unschemed'], ['secret visibleTo', 'secret inputSchema']],
    ['resources/list', 'resources', 'fail://fixed', [], ['secret list']],
  ])('%s omits entries whose functions throw, and reports each', async (method, member, listed, omitted, messages) => {
    for (const endpoint of ['message', 'generic'] as const) {
      const reply = await ask(endpoint, era, method, {})
      expect(reply.text).not.toContain('secret')
      const { [member]: entries = [] } = reply.result ?? {}
      const names = (entries as { name: string }[]).map(({ name }) => name)
      expect(names).toContain(listed)
      for (const name of omitted) expect(names).not.toContain(name)
      const { seen } = await observed()
      expect(seen).toEqual(messages.map((message) => expect.objectContaining({ message, stack: true, method })))
      expect(new Set(seen.map(({ id }) => id)).size).toBe(messages.length)
    }
    await ask('plain', era, method, {})
    for (const message of messages) await expect.poll(log).toContain(message)
  })

  test('onError receives what requestContext throws, and the client its error id', async () => {
    const reply = await ask('guarded', era, 'tools/call', { name: 'open' }, '?context=broken')
    const { seen } = await observed()
    const expected = {
      message: 'secret requestContext',
      stack: true,
      method: 'tools/call',
      entry: 'open',
      version: era,
    }
    expect(seen).toEqual([expect.objectContaining(expected)])
    const message = `The tool "open" failed (error id ${seen[0]?.id})`
    expect(reply.error).toMatchObject({ code: -32603, message })
    expect(reply.text).not.toContain('secret')
    await expect.poll(log).toContain(message)
  })

  test('requestContext refuses a request with an McpError, which onError does not receive', async () => {
    const reply = await ask('guarded', era, 'tools/call', { name: 'open' }, '?context=refused')
    expect(reply).toMatchObject({ status: 403, error: { message: 'No such account' } })
    expect((await observed()).seen).toEqual([])
  })

  test.each(['message', 'generic', 'plain'] as const)('tools of converse() fail: %s', async (endpoint) => {
    const names = ['throwing', 'unlike', 'toolError', 'params', 'unavailable']
    const message = { role: 'assistant', model: 'm' }
    const uses = names.map((name) => ({ type: 'tool_use', id: name, name, input: {} }))
    const sample: object[] = []
    const answers = [
      { ...message, stopReason: 'toolUse', content: uses },
      { ...message, content: { type: 'text', text: 'Sorry' } },
    ]
    await using client = await connect(urlOf(endpoint), {
      revision: era,
      capabilities: { sampling: { tools: {} } },
      answers: {
        sample(params) {
          sample.push(params)
          return answers.shift()
        },
      },
    })
    expect(await client.callTool('converses')).toMatchObject({ content: [{ text: 'Sorry' }] })
    // The tools of a turn run at the same time.
    const seen = (await observed()).seen.sort((one, other) => (one.message < other.message ? -1 : 1))
    const own = [expect.stringContaining('a bigint at secret'), 'for all, later', 'secret of a conversation']
    const expected = own.map((message) => ({ message, stack: true, entry: 'converses', version: era }))
    expect(seen).toMatchObject(endpoint === 'plain' ? [] : expected)
    const [unlike, , throwing] = seen
    const texts =
      endpoint === 'generic'
        ? [
            `The model's tool "throwing" failed (error id ${throwing?.id})`,
            `The model's tool "unlike" failed (error id ${unlike?.id})`,
          ]
        : [own[2], own[0]]
    const [, { messages = [] } = {}] = sample as { messages?: { content: { content: { text: string }[] }[] }[] }[]
    const results = messages.at(-1)?.content ?? []
    expect(results.map(({ content }) => content[0]?.text)).toEqual([
      ...texts,
      'for the model',
      'for the client',
      'for all, later',
    ])
    await expect.poll(log).toContain('secret of a conversation')
    if (endpoint === 'generic') expect(JSON.stringify(sample)).not.toContain('secret')
  })

  test.each<[tool: string, args: Params, text: RegExp, reported: string | undefined]>([
    ['api_hang', {}, /^127\.0\.0\.1:\d+ does not answer$/, undefined],
    ['api_at', { id: '..' }, /^"\.\." cannot be a segment of the path/, undefined],
    ['api_no_json', {}, /^The tool "api_no_json" failed \(error id \w{8}\)$/, 'without a JSON object'],
  ])('"generic" sends what openApiTools() says about the API: %s', async (name, args, text, reported) => {
    const reply = await ask('generic', era, 'tools/call', { name, arguments: args })
    expect(reply.result?.isError).toBe(true)
    expect(textOf(reply)).toMatch(text)
    const { seen } = await observed()
    expect(seen).toMatchObject(reported ? [{ message: expect.stringContaining(reported), entry: name }] : [])
    if (!reported) expect(log()).toBe('')
  })

  test('"generic" sends that the circuit breaker of openApiTools() is open, and does not report it', async () => {
    await ask('generic', era, 'tools/call', { name: 'broken_hang' })
    const reply = await ask('generic', era, 'tools/call', { name: 'broken_hang' })
    expect(textOf(reply)).toMatch(
      /^The server at 127\.0\.0\.1:\d+ is unavailable: its last requests failed\. Retry in \d+ s$/,
    )
    expect(await observed()).toMatchObject({ seen: [] })
    expect(log()).toBe('')
  })

  test.each<[method: string, params: Params, subject: string]>([
    ['tools/call', { name: 'scoped' }, 'The tool "scoped"'],
    ['prompts/get', { name: 'scoped' }, 'The prompt "scoped"'],
    ['resources/read', { uri: 'guarded://scoped' }, 'The resource "guarded://scoped"'],
  ])('%s: visibleTo throws for a caller without the scopes of the entry', async (method, params, subject) => {
    const reply = await ask('guarded', era, method, params)
    const { seen } = await observed()
    expect(seen).toMatchObject([{ message: 'secret visibleTo', stack: true, method, version: era }])
    expect(reply.error).toEqual({ code: -32603, message: `${subject} failed (error id ${seen[0]?.id})` })
    expect(reply.status).toBe(200)
    await expect.poll(log).toContain('secret visibleTo')
  })

  test('an interceptor catches the errors of resources and prompts, and gets those of tools in the outcome', async () => {
    await ask('generic', era, 'resources/read', { uri: 'fail://fixed' })
    await ask('generic', era, 'prompts/get', { name: 'failing' })
    await ask('generic', era, 'tools/call', { name: 'error' })
    expect((await observed()).caught).toEqual(['secret resource', 'secret prompt', 'secret message'])
  })

  test('a function chooses the text', async () => {
    expect(textOf(await ask('custom', era, 'tools/call', { name: 'error' }))).toMatch(/^Sorry \([0-9a-f]{8}\)$/)
    expect(textOf(await ask('custom', era, 'prompts/get', { name: 'failing' }))).toMatch(/^Sorry \([0-9a-f]{8}\)$/)
  })

  test('a function that throws is replaced by the generic text', async () => {
    const reply = await ask('broken', era, 'tools/call', { name: 'error' })
    expect(textOf(reply)).toMatch(/^The tool "error" failed \(error id [0-9a-f]{8}\)$/)
    expect(reply.text).not.toContain('secret')
    await expect.poll(log).toContain('secret of handlerErrors')
  })

  test('an error of onError is logged, and does not change the response', async () => {
    expect(textOf(await ask('message', era, 'tools/call', { name: 'error' }))).toBe('secret message')
    await expect.poll(log).toContain('onError itself fails')
  })

  test('each failure is logged once', async () => {
    await ask('message', era, 'resources/read', { uri: 'fail://fixed' })
    await ask('generic', era, 'resources/read', { uri: 'fail://fixed' })
    await ask('plain', era, 'resources/read', { uri: 'fail://fixed' })
    await expect.poll(() => log().match(/secret resource/g)?.length).toBe(3)
  })

  test.each(rows)(
    'without options, the tool "$tool" fails with the same error',
    async ({ tool, reads, isProtocol }) => {
      const reply = await ask('plain', era, 'tools/call', { name: tool })
      expect(textOf(reply)).toMatch(reads)
      expect(reply.result?.isError).toBe(isProtocol ? undefined : true)
    },
  )
})

test.each([
  ['2026-07-28', 'server/discover'],
  ['2025-11-25', 'initialize'],
  ['2024-11-05', 'initialize'],
])('%s: onError receives what instructions throw', async (revision, method) => {
  const problem: Error = await connect(urlOf('generic'), { revision, name: 'uninstructed' }).then(
    () => new Error('nothing was thrown'),
    (error) => error,
  )
  const { seen } = await observed()
  expect(seen).toMatchObject([{ message: 'secret instructions', stack: true, method }])
  expect(problem.message).toContain(`The method "${method}" failed (error id ${seen[0]?.id})`)
})

test.each(eras)('headers of an McpError that a handler throws are in the response: client of %s', async (era) => {
  const response = await post('message', era, 'tools/call', { name: 'headers', arguments: {} })
  expect([response.status, response.headers.get('Retry-After')]).toEqual([200, '7'])
  expect(await response.text()).toContain('with headers')
})

test('onError receives what onInitialize throws', async () => {
  const problem: Error = await connect(urlOf('guarded'), { revision: '2025-11-25', name: 'uninitialized' }).then(
    () => new Error('nothing was thrown'),
    (error) => error,
  )
  const { seen } = await observed()
  expect(seen).toMatchObject([{ message: 'secret onInitialize', stack: true, method: 'initialize' }])
  expect(problem.message).toContain(`The method "initialize" failed (error id ${seen[0]?.id})`)
})

test('HTTP+SSE: onError receives what onInitialize throws', async () => {
  const opened = await fetch(new URL('/guarded/sse', server.url), { headers: { Accept: 'text/event-stream' } })
  const stream = events(opened)
  const endpoint = new URL((await stream.next()).value?.data ?? '', server.url)
  const clientInfo = { name: 'uninitialized', version: '1' }
  const params = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo }
  const headers = { 'Content-Type': 'application/json' }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  await fetch(endpoint, { method: 'POST', headers, body })
  const { error } = JSON.parse((await stream.next()).value?.data ?? '')
  await stream.return(undefined)
  const { seen } = await observed()
  expect(seen).toMatchObject([{ message: 'secret onInitialize', method: 'initialize', version: '2024-11-05' }])
  expect(error.message).toBe(`The method "initialize" failed (error id ${seen[0]?.id})`)
})

test('a batch in which visibleTo throws for one call answers the others', async () => {
  const call = (id: number, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })
  const { session } = await initializeSession(urlOf('guarded'), '2025-03-26')
  const response = await fetch(urlOf('guarded'), {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'Mcp-Session-Id': session,
    },
    body: JSON.stringify([call(1, 'scoped'), call(2, 'open')]),
  })
  expect(response.status).toBe(200)
  const text = await response.text()
  expect(text).toMatch(/The tool \\"scoped\\" failed \(error id \w{8}\)/)
  expect(text).toContain('"text":"open"')
})

test('HTTP+SSE: "generic" sends nothing of the error', async () => {
  await using client = await connect(urlOf('generic'), { revision: '2024-11-05' })
  const result = await client.callTool('error')
  const { seen } = await observed()
  expect(result).toMatchObject({
    isError: true,
    content: [{ text: `The tool "error" failed (error id ${seen[0]?.id})` }],
  })
  expect(seen).toMatchObject([{ message: 'secret message', stack: true, version: '2024-11-05' }])
})

describe('the run of a task', () => {
  test.each(['message', 'generic'] as const)('fails: %s', async (endpoint) => {
    await using client = await connect(urlOf(endpoint), { revision: '2025-11-25' })
    const created = await client.request('tools/call', { name: 'run', task: {} })
    const { taskId } = created.task as { taskId: string }
    const result = await client.request('tasks/result', { taskId })
    const { seen } = await observed()
    expect(seen).toMatchObject([{ message: 'secret of a run', stack: true, entry: 'run' }])
    const text = endpoint === 'message' ? 'secret of a run' : `The tool "run" failed (error id ${seen[0]?.id})`
    expect(result).toMatchObject({ isError: true, content: [{ text }] })
  })

  test('"generic" sends nothing of a result that cannot be stored', async () => {
    await using client = await connect(urlOf('generic'), { revision: '2025-11-25' })
    const created = await client.request('tools/call', { name: 'stored', task: {} })
    const { taskId } = created.task as { taskId: string }
    const problem = await client.request('tasks/result', { taskId }).catch((error) => error)
    expect(problem).toBeInstanceOf(Error)
    const { seen } = await observed()
    expect(seen).toMatchObject([
      { message: expect.stringContaining('Cannot store the result of the tool: secret meta') },
    ])
    expect(problem.message).toBe(`The tool "stored" failed (error id ${seen[0]?.id})`)
  })
})
