/** What one server seals, no other server accepts: neither one of the same Worker, nor one of a Worker with the same keys. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { namedHost } from '../support/named-host.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { statelessHeaders } from '../support/stateless.ts'

let server: TestServer
/** The same Worker once more, as another isolate, or after a deployment. */
let second: TestServer

beforeAll(async () => {
  server = await startServer('test/auth/identity')
  second = await startServer('test/auth/identity')
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await second?.[Symbol.asyncDispose]()
})

type Place = { name: string; on?: TestServer }
type Body = { result?: Record<string, unknown>; error?: { message: string } }

const urlOf = ({ name, on = server }: Place) => new URL(`/${name}/mcp`, on.url)

async function bodyOf(response: Response): Promise<Body> {
  const text = await response.text()
  const [, event] = /^data: (.+)$/m.exec(text) ?? []
  return JSON.parse(event ?? text)
}

const capabilities = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }
const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': capabilities,
}

async function ask(at: Place, method: string, params: Record<string, unknown> = {}): Promise<Body> {
  const name = params.name ?? params.taskId
  const response = await fetch(urlOf(at), {
    method: 'POST',
    headers: statelessHeaders(method, name === undefined ? undefined : String(name)),
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: envelope } }),
  })
  return bodyOf(response)
}

const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
const clientInfo = { name: 'test', version: '1.0.0' }

async function initialize(at: Place): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  const response = await fetch(urlOf(at), { method: 'POST', headers, body })
  await response.text()
  return response.headers.get('Mcp-Session-Id') ?? ''
}

const inSession = (at: Place, session: string, method: string, params: object = {}) =>
  fetch(urlOf(at), {
    method: 'POST',
    headers: { ...headers, 'Mcp-Session-Id': session },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })

const textOf = ({ result, error }: Body): string =>
  error?.message ?? (result?.content as { text: string }[] | undefined)?.[0]?.text ?? JSON.stringify(result)

/** Makes something sealed in one place, and uses it in another. @returns what came of the use */
const uses: Record<string, (made: Place, used: Place) => Promise<string>> = {
  async requestState(made, used) {
    const { result } = await ask(made, 'tools/call', { name: 'order' })
    const inputResponses = { sure: { action: 'accept', content: {} } }
    return textOf(await ask(used, 'tools/call', { name: 'order', requestState: result?.requestState, inputResponses }))
  },
  async session(made, used) {
    const response = await inSession(used, await initialize(made), 'tools/list')
    return textOf(await bodyOf(response))
  },
  async cursor(made, used) {
    const { result } = await ask(made, 'tools/list')
    return textOf(await ask(used, 'tools/list', { cursor: result?.nextCursor }))
  },
  async 'cursor of a session'(made, used) {
    const session = await initialize(made)
    const { result } = await bodyOf(await inSession(made, session, 'tools/list'))
    return textOf(await ask(used, 'tools/list', { cursor: result?.nextCursor }))
  },
  async 'state handle'(made, used) {
    const basket = textOf(await ask(made, 'tools/call', { name: 'basket' }))
    return textOf(await ask(used, 'tools/call', { name: 'put', arguments: { basket } }))
  },
  async 'state handle of a session'(made, used) {
    const session = await initialize(made)
    const basket = textOf(await bodyOf(await inSession(made, session, 'tools/call', { name: 'basket', arguments: {} })))
    return textOf(await ask(used, 'tools/call', { name: 'put', arguments: { basket } }))
  },
  async 'state handle of a task'(made, used) {
    const { result } = await ask(made, 'tools/call', { name: 'pack' })
    const taskId = result?.taskId
    let task: Body = {}
    await expect
      .poll(async () => {
        task = await ask(made, 'tasks/get', { taskId })
        return task.result?.status
      })
      .toBe('completed')
    const basket = textOf({ result: task.result?.result as Record<string, unknown> })
    return textOf(await ask(used, 'tools/call', { name: 'put', arguments: { basket } }))
  },
  async 'task id'(made, used) {
    const { result } = await ask(made, 'tools/call', { name: 'pack' })
    return textOf(await ask(used, 'tasks/get', { taskId: result?.taskId }))
  },
  async 'task id that is listened to'(made, used) {
    const { result } = await ask(made, 'tools/call', { name: 'pack' })
    const abort = new AbortController()
    const method = 'subscriptions/listen'
    const params = { notifications: { taskIds: [result?.taskId] }, _meta: envelope }
    const response = await fetch(urlOf(used), {
      method: 'POST',
      signal: abort.signal,
      headers: statelessHeaders(method),
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk)
      if (text.includes('\n\n')) break
    }
    abort.abort()
    return text.includes(String(result?.taskId)) ? 'listens' : 'hears nothing of it'
  },
  async 'session of HTTP+SSE'(made, used) {
    const sse = (place: Place, path: string) => new URL(path, urlOf(place))
    const abort = new AbortController()
    const stream = await fetch(sse(made, 'sse'), { signal: abort.signal })
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of stream.body ?? []) {
      text += decoder.decode(chunk)
      if (text.includes('\n\n')) break
    }
    const [, query] = /^data: [^?]+(\?.+)$/m.exec(text) ?? []
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' })
    const posted = await fetch(sse(used, `messages${query}`), { method: 'POST', headers, body })
    return posted.status === 202 ? 'accepted' : textOf(await bodyOf(posted))
  },
}

const refusals: Record<string, string> = {
  requestState: 'params.requestState is not valid for this request: send the request without it',
  session: 'Session not found: send initialize again',
  cursor: 'Invalid cursor: list again from the first page',
  'cursor of a session': 'Invalid cursor: list again from the first page',
  'state handle': 'This handle of the state "basket" is unknown or expired: get a new one',
  'state handle of a session': 'This handle of the state "basket" is unknown or expired: get a new one',
  'state handle of a task': 'This handle of the state "basket" is unknown or expired: get a new one',
  'task id': 'Unknown task',
  'task id that is listened to': 'hears nothing of it',
  'session of HTTP+SSE': 'Session not found: send initialize again',
}

/** What is stored in objects of the classes of one endpoint. */
const ofOneEndpoint = new Set(['task id', 'task id that is listened to', 'session of HTTP+SSE'])

describe.each(Object.keys(uses))('a %s', (kind) => {
  const use = uses[kind] as (made: Place, used: Place) => Promise<string>

  test('of one server is refused by another server of the Worker', async () => {
    expect(await use({ name: 'eu' }, { name: 'us' })).toBe(refusals[kind])
    expect(await use({ name: 'us' }, { name: 'eu' })).toBe(refusals[kind])
  })

  test('of a server is refused at another endpoint of the same server', async () => {
    expect(await use({ name: 'eu' }, { name: 'again' })).toBe(refusals[kind])
    expect(await use({ name: 'again' }, { name: 'eu' })).toBe(refusals[kind])
  })

  test.each(['eu', 'us', 'again'])('is accepted by the server that made it, at /%s/mcp', async (name) => {
    expect(await use({ name }, { name })).not.toBe(refusals[kind])
  })

  test('of an endpoint is what another one of the same identity accepts, unless an object of the endpoint stores it', async () => {
    const found = await use({ name: 'blue' }, { name: 'green' })
    expect(found === refusals[kind]).toBe(ofOneEndpoint.has(kind))
    expect(await use({ name: 'blue' }, { name: 'eu' })).toBe(refusals[kind])
  })
})

test.each(['requestState', 'cursor', 'session'])(
  'a %s is accepted by another instance of the same Worker',
  async (kind) => {
    const use = uses[kind] as (made: Place, used: Place) => Promise<string>
    expect(await use({ name: 'eu' }, { name: 'eu', on: second })).not.toBe(refusals[kind])
    expect(await use({ name: 'eu' }, { name: 'us', on: second })).toBe(refusals[kind])
  },
)

test('a session is accepted under every host of its endpoint', async () => {
  const session = await initialize({ name: 'eu' })
  const response = await namedHost(server.url)(
    new Request('http://other.localhost/eu/mcp', {
      method: 'POST',
      headers: { ...headers, 'Mcp-Session-Id': session },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    }),
  )
  expect(response.status).toBe(200)
})
