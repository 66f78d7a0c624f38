/** Durable Objects work for endpoints that do not exist in their isolate, such as those of tenants. */
import { createExecutionContext, runInDurableObject } from 'cloudflare:test'
import { env, exports } from 'cloudflare:workers'
import { createServer, type Plugin, type ServeOptions, serve } from 'edgemcp'
import { rateLimit } from 'edgemcp/rate-limit'
import { resultStore, storedResult } from 'edgemcp/results'
import { sessions } from 'edgemcp/sessions'
import { state } from 'edgemcp/state'
import { tasks } from 'edgemcp/tasks'
import { describe, expect, test } from 'vitest'
import type { SessionRpc } from '../../durable-objects/rpc.ts'
import { endpointKey, endpointOf, endpointsAt } from '../../worker/declarations/endpoints.ts'
import type { Admitted } from '../../worker/declarations/stored-principal.ts'
import { statelessHeaders } from '../support/stateless.ts'
import { admitted, post, postTo } from './session-post.ts'
import { references } from './task-host.ts'

type Classes = { McpState: DurableObjectNamespace; McpSession: { getByName(name: string): SessionRpc } }
const { McpState, McpSession } = exports as unknown as Classes

/** Data about an endpoint that does not exist in this isolate. */
const endpoint = endpointKey('elsewhere', undefined)
const elsewhere: Admitted = { ...admitted, endpoint }

/** Calls the tool "fail" in a session of the test server. Returns the response. */
const failInSession = (more: Partial<Admitted>) => callInSession('fail', {}, more)

async function callInSession(name: string, args: object, more: Partial<Admitted>): Promise<unknown> {
  const session = McpSession.getByName(crypto.randomUUID())
  return postTo(session, post('tools/call', { name, arguments: args }, { admitted: { ...elsewhere, ...more } }))
}

/** Runs a task that fails, in the class of an endpoint with these options. Returns its status. */
const failAsTask = (options: Partial<ServeOptions>, more: Partial<Admitted>) => runAsTask('fail', options, more)

function createFailing() {
  const server = createServer({ name: 'failing', version: '1.0.0' })
  server.tool('long', { description: 'Returns a long text', task: true }, () => long)
  server.tool('fail', { description: 'Fails', task: true }, () => {
    throw new Error('It failed')
  })
  server.tool('store', { description: 'Stores a stream that fails', task: true }, () =>
    storedResult(new ReadableStream({ pull: () => Promise.reject(new Error('It failed')) })),
  )
  return server
}

async function runAsTask(
  name: string,
  options: Partial<ServeOptions>,
  more: Partial<Admitted>,
  server = createFailing(),
  identity = 'test',
): Promise<unknown> {
  const { McpTask } = serve(server, {
    path: '/failing/mcp',
    ...options,
    plugins: [sessions(), tasks(), ...(options.plugins ?? [])],
  })
  return runInDurableObject(McpState.getByName(crypto.randomUUID()), async (_, context) => {
    const task = new McpTask(context, {} as never)
    const call = {
      params: { name },
      capabilities: {},
      client: undefined,
      principal: undefined,
      identity,
      admitted: { ...elsewhere, serverName: server.declarations.options.name, plugins: ['sessions', 'tasks'], ...more },
    }
    const terms = { after: 10_000, ttl: 3_600_000, poll: 1000, retries: 0 }
    const status = await task.start(call, terms, { ...references, session: undefined }, {}, false)
    await context.storage.deleteAll()
    return status
  })
}

const storingNames = ['sessions', 'tasks', 'resultStore results/']
const storing = () => resultStore({ bucket: memoryBucket(), overBytes: 500, previewCharacters: 0 })

/** What `resultStore()` uses of a bucket, in memory. */
function memoryBucket(): R2Bucket {
  const objects = new Map<string, R2Object & { arrayBuffer(): Promise<ArrayBuffer> }>()
  const bucket = {
    head: async (key: string) => objects.get(key) ?? null,
    get: async (key: string) => objects.get(key) ?? null,
    delete: async (key: string) => void objects.delete(key),
    put: async (key: string, data: Uint8Array, metadata: object) =>
      void objects.set(key, {
        ...metadata,
        size: data.byteLength,
        arrayBuffer: async () => data.slice().buffer,
      } as never),
    createMultipartUpload: async () => ({}),
  }
  return bucket as never
}

const long = 'x'.repeat(1000)
const tooLong = /returned 10\d\d bytes of JSON, and this server sends at most 500/

test.each([
  ['a call in a session', (more: Partial<Admitted>) => callInSession('echo', { text: long }, more)],
  ['a task', (more: Partial<Admitted>) => runAsTask('long', {}, more)],
  [
    'a task in a class with another limit',
    (more: Partial<Admitted>) => runAsTask('long', { limits: { maxResultBytes: 100 } }, more),
  ],
])('use limits.maxResultBytes of the endpoint that admitted a call: %s', async (_, run) => {
  expect(JSON.stringify(await run({ maxResultBytes: 2000 }))).toContain(long)
  expect(JSON.stringify(await run({ maxResultBytes: 500 }))).toMatch(tooLong)
  expect(JSON.stringify(await run({ maxResultBytes: 500, hidesErrors: true }))).toMatch(tooLong)
})

test('send limits.maxResultBytes with a call', () => {
  const server = createServer({ name: 'limited', version: '1.0.0' })
  const maxResultBytesAt = (path: string, maxResultBytes: number) => {
    serve(server, { path, limits: { maxResultBytes }, plugins: [sessions()] })
    const key = endpointKey(JSON.stringify(['limited', path]), undefined)
    return endpointsAt(key)[0]?.admitted.maxResultBytes
  }
  expect(maxResultBytesAt('/limited/mcp', 500)).toBe(500)
  // It has a form as JSON.
  expect(maxResultBytesAt('/unlimited/mcp', Number.POSITIVE_INFINITY)).toBe(Number.MAX_SAFE_INTEGER)
})

const failed = /The tool \\*"(?:fail|store)\\*" failed \(error id [0-9a-f]{8}\)/

test.each([
  ['a call in a session', failInSession],
  ['a task', (more: Partial<Admitted>) => failAsTask({}, more)],
  ['a task in a class with onError', (more: Partial<Admitted>) => failAsTask({ onError: () => {} }, more)],
  [
    'a task with a storedResult()',
    (more: Partial<Admitted>) => runAsTask('store', { plugins: [storing()] }, { plugins: storingNames, ...more }),
  ],
])('keep messages of exceptions from clients of an endpoint with handlerErrors: %s', async (_, fail) => {
  expect(JSON.stringify(await fail({ hidesErrors: false }))).toContain('It failed')
  const hidden = JSON.stringify(await fail({ hidesErrors: true }))
  expect(hidden).toMatch(failed)
  expect(hidden).not.toContain('It failed')
})

test('do not use the handlerErrors function of their own endpoint for another endpoint that has one', async () => {
  const own: Partial<ServeOptions> = { handlerErrors: (error) => String(error) }
  expect(JSON.stringify(await failAsTask(own, { hidesErrors: true }))).toMatch(failed)
})

describe('the class that a Worker lacks is named', () => {
  const counts = state('counts_of_nobody', { per: 'handle', ttl: '1h' }, (store) => ({
    count: () => store.entries().length,
  }))
  const server = createServer({ name: 'stateful', version: '1.0.0' })
  server.tool('count', { description: 'Counts', task: true }, async (_, ctx) => {
    return `${await ctx.state(counts, await ctx.createHandle(counts)).count()}`
  })
  server.prompt('count', { description: 'Counts' }, async (_, ctx) => {
    return `${await ctx.state(counts, await ctx.createHandle(counts)).count()}`
  })
  server.tool('rare', { description: 'May be called rarely', rateLimit: { quota: '1/d' } }, () => 'Done')
  const lacking = (handlerErrors: Texts) =>
    ({ handlerErrors, durableObjects: { names: { McpState: 'MissingState' } } }) as const

  type Texts = 'generic' | 'message'
  /** What a call of an endpoint contains. It exists in this isolate, unless it is elsewhere. */
  const admittedAt = (called: Texts, isHere: boolean, plugins: readonly Plugin[]) => {
    const names = ['sessions', ...plugins.map(({ name }) => name)]
    const path = `/${called}/${names.join('-')}/mcp`
    serve(server, { path, plugins: [sessions(), ...plugins], ...lacking(called) })
    const key = endpointKey(JSON.stringify(['stateful', path]), undefined)
    return {
      endpoint: isHere ? key : endpoint,
      path,
      serverName: 'stateful',
      plugins: names,
      hidesErrors: called === 'generic',
    }
  }
  const callAs = (own: Texts, called: Texts, isHere: boolean, name: string, method = 'tools/call') => {
    const plugins = [rateLimit()]
    const admitted = { ...elsewhere, ...admittedAt(called, isHere, plugins), isLimited: true }
    const { McpSession } = serve(server, { path: '/own/mcp', plugins: [sessions(), ...plugins], ...lacking(own) })
    return runInDurableObject(McpState.getByName(crypto.randomUUID()), (_, context) => {
      const session = new McpSession(context, {} as never)
      return postTo(session, post(method, { name, arguments: {} }, { admitted, caller: 'ada' }))
    })
  }
  const runs: [string, (own: Texts, called: Texts, isHere: boolean) => Promise<unknown>][] = [
    ['a call in a session', (...where) => callAs(...where, 'count')],
    ['a prompt in a session', (...where) => callAs(...where, 'count', 'prompts/get')],
    ['the limit of a call in a session', (...where) => callAs(...where, 'rare')],
    [
      'a task',
      (own, called, isHere) =>
        runAsTask('count', { path: '/own/mcp', ...lacking(own) }, admittedAt(called, isHere, [tasks()]), server),
    ],
  ]
  test.each(runs)('to clients as handlerErrors of the called endpoint says: %s', async (_, run) => {
    const missing = 'This Worker has no Durable Object MissingState'
    expect(JSON.stringify(await run('generic', 'message', true))).toContain(missing)
    expect(JSON.stringify(await run('message', 'generic', true))).not.toContain('MissingState')
    expect(JSON.stringify(await run('message', 'message', false))).toContain(missing)
    expect(JSON.stringify(await run('message', 'generic', false))).not.toContain('MissingState')
  })
})

test.each([
  ['runs with the same options', 'acme/', 'It failed'],
  ['is refused with other options', 'shared/', 'have different plugins, or other options of them'],
])('a task whose endpoint stores results under acme/ %s', async (_, prefix, expected) => {
  const bucket = () => ({}) as R2Bucket // Nothing is stored.
  const plugins = ['sessions', 'tasks', 'resultStore acme/']
  const own = { plugins: [resultStore({ bucket, prefix })] }
  expect(JSON.stringify(await failAsTask(own, { plugins }))).toContain(expected)
})

test('a task stores its result for its caller, who reads it where the endpoint exists, and in a session where it does not', async () => {
  const plugins = [storing()]
  const server = createFailing()
  const path = '/storing/mcp'
  const identity = JSON.stringify(['failing', path])
  const more = { endpoint: endpointKey(identity, undefined), plugins: storingNames }
  const [, uri] =
    /"uri":"(result:[^"]*)"/.exec(JSON.stringify(await runAsTask('long', { plugins }, more, server, identity))) ?? []

  const { McpSession } = serve(server, { path: '/failing/mcp', plugins: [sessions(), tasks(), ...plugins] })
  const answer = await runInDurableObject(McpState.getByName(crypto.randomUUID()), async (_, context) => {
    const session = new McpSession(context, {} as never) as unknown as SessionRpc // its RPC methods
    const admitted = { ...elsewhere, ...more, serverName: 'failing' }
    const response = await postTo(session, post('resources/read', { uri }, { admitted, identity }))
    await context.storage.deleteAll()
    return response
  })
  expect(JSON.stringify(answer)).toContain(long)

  const worker = serve(server, { path, plugins: [sessions(), tasks(), ...plugins] })
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const read = new Request(`https://mcp.example.com${path}`, {
    method: 'POST',
    headers: statelessHeaders('resources/read', uri),
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri, _meta } }),
  })
  const response = await worker.fetch(read, env, createExecutionContext())
  expect(await response.json()).toMatchObject({ result: { contents: [{ text: long }] } })
})

test('plugins have the identity, the declarations and the seals of the endpoint of a call', async () => {
  const seen: unknown[] = []
  const seeing: Plugin = {
    name: 'seeing',
    interceptor: (runtime) => (_, next) => {
      seen.push(runtime.identity, runtime.declarations.maxResultBytes, runtime.seals(undefined).identity)
      return next()
    },
  }
  await runAsTask('long', { plugins: [seeing] }, { plugins: ['sessions', 'tasks', 'seeing'], maxResultBytes: 5000 })
  expect(seen).toEqual(['test', 5000, 'test'])
})

test('endpoints name plugins with their variants', () => {
  const server = createServer({ name: 'varied', version: '1.0.0' })
  serve(server, { path: '/varied/mcp', plugins: [sessions(), { name: 'plain' }, { name: 'mask', variant: 'cards' }] })
  const key = endpointKey(JSON.stringify(['varied', '/varied/mcp']), undefined)
  expect(endpointsAt(key)[0]?.endpoint.plugins).toEqual(['sessions', 'plain', 'mask cards'])
})

test('a task of another server that shares the class does not run the tool of the same name', async () => {
  const status = await failAsTask({}, { serverName: 'other' })
  expect(status).toMatchObject({
    error: {
      message:
        'The class McpTask belongs to the server "failing", not to "other": give each server its own with durableObjects.names',
    },
  })
})

describe('a list in a session whose class another endpoint has', () => {
  const methods = ['tools', 'prompts', 'resources', 'resources/templates'].map((list) => `${list}/list`)
  const listAs = async (method: string, more: Partial<Admitted>) => {
    const admitted = { ...elsewhere, ...more }
    const posted = await postTo(McpSession.getByName(crypto.randomUUID()), post(method, {}, { admitted }))
    return JSON.parse('text' in posted ? String(posted.text) : '')
  }

  test.each(methods)('has the entries of its server: %s', async (method) => {
    const { result } = await listAs(method, { serverName: 'everything' })
    const [entries] = Object.values(result) as { name: string }[][]
    expect(entries?.length).toBeGreaterThan(0)
  })

  test.each(methods)('has no entries of another server: %s', async (method) => {
    expect(await listAs(method, { serverName: 'other' })).toMatchObject({
      error: {
        message:
          'The class McpSession belongs to the server "everything", not to "other": give each server its own with durableObjects.names',
      },
    })
  })

  test('is answered with the identity of that endpoint', async () => {
    const identities: string[] = []
    const server = createServer({ name: 'listed', version: '1.0.0' })
    server.tool('own', { description: 'An entry' }, () => 'own')
    const plugin: Plugin = {
      name: 'named',
      interceptor:
        ({ identity }) =>
        (_, next) => {
          identities.push(identity)
          return next()
        },
    }
    const { McpSession } = serve(server, { path: '/listed/mcp', plugins: [sessions(), plugin] })
    const admitted = { ...elsewhere, serverName: 'listed', plugins: ['sessions', 'named'] }
    const posted = await runInDurableObject(McpState.getByName(crypto.randomUUID()), (_, context) =>
      postTo(new McpSession(context, {} as never), post('tools/list', {}, { admitted })),
    )
    expect(JSON.stringify(posted)).toContain('An entry')
    expect(identities).toEqual(['elsewhere'])
  })
})

test('a call runs with an endpoint of its identity only if that has all that the call was admitted with', () => {
  const server = createServer({ name: 'covering', version: '1.0.0' })
  serve(server, { path: '/covering/mcp', plugins: [sessions(), rateLimit()] })
  const [registered] = endpointsAt(endpointKey(JSON.stringify(['covering', '/covering/mcp']), undefined))
  const described = registered?.admitted as Admitted
  const found = (more: Partial<Admitted>) => endpointOf({ ...described, ...more }) !== undefined
  expect(found({})).toBe(true)
  // As after a deployment that changed limits, or added a plugin.
  expect(found({ maxResultBytes: 5, plugins: ['sessions'] })).toBe(true)
  expect(found({ plugins: ['sessions', 'rateLimit', 'redact'] })).toBe(false)
  expect(found({ path: '/other/mcp' })).toBe(false)
  expect(found({ hidesErrors: true })).toBe(false)
  expect(found({ isReauthorized: true })).toBe(false)
  expect(found({ storedClaims: ['groups'] })).toBe(false)
  expect(found({ isLimited: false })).toBe(true)
})
