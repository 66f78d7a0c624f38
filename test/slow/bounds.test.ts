/** Odd and oversize values in every field that a client sends: an accepted message or a defined error, never another throw. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as bounds from '../../worker/protocol/bounds.ts'
import { measured } from '../../worker/protocol/check-bounds.ts'
import { classify } from '../../worker/protocol/classify.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { parse } from '../../worker/protocol/jsonrpc.ts'
import { uriProblem } from '../../worker/protocol/uri.ts'
import { uriTemplate } from '../../worker/protocol/uri-template.ts'
import type { Chance } from '../support/random.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { property } from './cases.ts'

/** By the name of the bound. */
const sizes = { ...bounds }

type Params = Record<string, unknown>
type Posted = Record<string, unknown> & { method?: unknown; params?: unknown }

type Field = {
  /** What a text in this field is held to. */
  bound?: keyof typeof bounds
  message: (value: unknown) => Posted
}

const request = (method: string, params: unknown): Posted => ({ jsonrpc: '2.0', id: 1, method, params })
const call = (params: Params) => request('tools/call', { name: 'ask', ...params })
const complete = (params: Params) =>
  request('completion/complete', {
    ref: { type: 'ref/prompt', name: 'greet' },
    argument: { name: 'who', value: '' },
    ...params,
  })
const listen = (notifications: unknown) => request('subscriptions/listen', { notifications })
const initialize = (params: Params) =>
  request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'fuzz', version: '1' },
    ...params,
  })
const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
const uriOf = (value: unknown) => (typeof value === 'string' ? `note://${value.slice(7)}` : value)

const fields: Readonly<Record<string, Field>> = {
  jsonrpc: { message: (jsonrpc) => ({ ...request('tools/list', {}), jsonrpc }) },
  id: { bound: 'idCharacters', message: (id) => ({ ...request('tools/list', {}), id }) },
  method: { bound: 'methodCharacters', message: (method) => ({ ...request('', {}), method }) },
  params: { message: (params) => request('tools/call', params) },
  name: { bound: 'nameCharacters', message: (name) => call({ name }) },
  arguments: { message: (value) => call({ arguments: value }) },
  'name of a prompt': { bound: 'nameCharacters', message: (name) => request('prompts/get', { name }) },
  'arguments of a prompt': { message: (value) => request('prompts/get', { name: 'greet', arguments: value }) },
  uri: { bound: 'uriCharacters', message: (uri) => request('resources/read', { uri: uriOf(uri) }) },
  'uri to subscribe to': {
    bound: 'uriCharacters',
    message: (uri) => request('resources/subscribe', { uri: uriOf(uri) }),
  },
  'uri to unsubscribe from': {
    bound: 'uriCharacters',
    message: (uri) => request('resources/unsubscribe', { uri: uriOf(uri) }),
  },
  cursor: { bound: 'cursorCharacters', message: (cursor) => request('tools/list', { cursor }) },
  level: { bound: 'levelCharacters', message: (level) => request('logging/setLevel', { level }) },
  taskId: { bound: 'taskIdCharacters', message: (taskId) => request('tasks/get', { taskId }) },
  task: { message: (task) => call({ task }) },
  requestId: {
    bound: 'idCharacters',
    message: (requestId) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }),
  },
  requestState: { bound: 'requestStateCharacters', message: (requestState) => call({ requestState }) },
  inputResponses: { message: (inputResponses) => call({ inputResponses }) },
  'an input response': { message: (name) => call({ inputResponses: { name } }) },
  'a key of inputResponses': {
    bound: 'nameCharacters',
    message: (key) => call({ inputResponses: { [textOf(key)]: { action: 'decline' } } }),
  },
  'content of an input response': {
    message: (content) => call({ inputResponses: { name: { action: 'accept', content } } }),
  },
  roots: { message: (roots) => call({ name: 'folders', inputResponses: { folders: { roots } } }) },
  'uri of a root': {
    bound: 'uriCharacters',
    message: (uri) => call({ name: 'folders', inputResponses: { folders: { roots: [{ uri }] } } }),
  },
  ref: { message: (ref) => complete({ ref }) },
  'ref.name': { bound: 'nameCharacters', message: (name) => complete({ ref: { type: 'ref/prompt', name } }) },
  'ref.uri': { bound: 'uriCharacters', message: (uri) => complete({ ref: { type: 'ref/resource', uri } }) },
  argument: { message: (argument) => complete({ argument }) },
  'argument.name': { bound: 'nameCharacters', message: (name) => complete({ argument: { name, value: '' } }) },
  'argument.value': {
    bound: 'completionCharacters',
    message: (value) => complete({ argument: { name: 'who', value } }),
  },
  context: { message: (context) => complete({ context }) },
  'context.arguments': { message: (value) => complete({ context: { arguments: value } }) },
  'a value of context.arguments': {
    bound: 'completionCharacters',
    message: (value) => complete({ context: { arguments: { other: value } } }),
  },
  notifications: { message: (value) => listen(value) },
  resourceSubscriptions: { message: (value) => listen({ resourceSubscriptions: value }) },
  'a uri of resourceSubscriptions': {
    bound: 'filterCharacters',
    message: (uri) => listen({ resourceSubscriptions: [uri] }),
  },
  taskIds: { message: (value) => listen({ taskIds: value }) },
  'an id of taskIds': { bound: 'taskIdCharacters', message: (id) => listen({ taskIds: [id] }) },
  toolsListChanged: { message: (value) => listen({ toolsListChanged: value }) },
  _meta: { message: (_meta) => call({ _meta }) },
  progressToken: { bound: 'idCharacters', message: (progressToken) => call({ _meta: { progressToken } }) },
  logLevel: {
    bound: 'levelCharacters',
    message: (level) => call({ _meta: { 'io.modelcontextprotocol/logLevel': level } }),
  },
  version: {
    bound: 'versionCharacters',
    message: (version) => call({ _meta: { 'io.modelcontextprotocol/protocolVersion': version } }),
  },
  clientCapabilities: { message: (value) => call({ _meta: { 'io.modelcontextprotocol/clientCapabilities': value } }) },
  clientInfo: { message: (value) => call({ _meta: { 'io.modelcontextprotocol/clientInfo': value } }) },
  protocolVersion: { bound: 'versionCharacters', message: (protocolVersion) => initialize({ protocolVersion }) },
  'capabilities of initialize': { message: (capabilities) => initialize({ capabilities }) },
  'clientInfo of initialize': { message: (clientInfo) => initialize({ clientInfo }) },
  result: { message: (result) => ({ jsonrpc: '2.0', id: 'ask-1', result }) },
  error: { message: (error) => ({ jsonrpc: '2.0', id: 'ask-1', error }) },
}

const characters = ['a', 'a', 'a', '/', '%', '.', ' ', '"', '\\', '\0', '\n', '\u2028', 'é', '日', '😊', '\ud800']
const keys = [
  'name',
  'uri',
  'type',
  'action',
  'roots',
  'content',
  'arguments',
  'elicitation',
  '__proto__',
  'constructor',
  'toString',
  'then',
  'toJSON',
  '',
  'a',
]
const numbers = [0, -0, 1, -1, 1.5, 1e308, 2 ** 53, -(2 ** 63), 1e-7]

/** A text of about this many characters, or of any other number. */
function someText(random: Chance, bound: number): string {
  const length = random.one([0, 1, random.below(20), bound - 1, bound, bound + 1, random.rarely(20) ? 4 * bound : 7])
  const piece = random.some(1, 3, () => random.one(characters)).join('')
  return piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
}

function someValue(random: Chance, bound: number, depth = 0): unknown {
  const kind = random.below(depth > 3 ? 4 : 8)
  if (kind < 2) return random.one(numbers)
  if (kind === 2) return random.one([null, true, false])
  if (kind < 5) return someText(random, depth === 0 ? bound : 50)
  if (kind === 5)
    return random.some(0, random.rarely(10) && depth === 0 ? 1_100 : 4, () => someValue(random, bound, depth + 1))
  // Object.fromEntries makes a property of `__proto__`, too.
  const most = random.rarely(10) && depth === 0 ? 110 : 4
  return Object.fromEntries(
    random.some(0, most, (index) => [most > 4 ? `k${index}` : random.one(keys), someValue(random, bound, depth + 1)]),
  )
}

const boundOf = ({ bound }: Field) => (bound ? sizes[bound] : 2_000)

/** What a refusal says must not grow with what was sent. */
const mostCharactersOfAnError = 3 * bounds.nameCharacters

const versions = [null, '2026-07-28', '2025-11-25', '', 'latest', '9999-99-99']

describe('messages', () => {
  for (const [name, field] of Object.entries(fields)) {
    property(`with any value as ${name}`, 10_000, (random) => {
      // Most of them short, so that many are accepted.
      const bound = random.rarely(4) ? boundOf(field) : 30
      const value = someValue(random, bound)
      const text = JSON.stringify(field.message(value))
      const read = measured(parse(text), text.length)
      const recognised = classify(read, { version: random.one(versions), session: random.one([null, 'session']) })
      const refusal = 'malformed' in read ? read.malformed : 'refused' in recognised ? recognised.refused : undefined
      if (refusal) {
        expect(refusal).toBeInstanceOf(McpError)
        expect(refusal.message.length, refusal.message.slice(0, 200)).toBeLessThan(mostCharactersOfAnError)
      }
      if (!field.bound || typeof value !== 'string') return
      const isBeyond = 'malformed' in read && read.malformed.message.includes('accepts at most')
      if (value.length > sizes[field.bound]) expect(isBeyond).toBe(true)
      if (value.length < 7) expect(isBeyond).toBe(false)
    })
  }
})

const templates = ['note://{id}', 'note://{+path}', 'note://{a}/{b*}{?q}', '{x}{y}{z}'].map(uriTemplate)

property('any string as a URI is checked and matched without an exception', 10_000, (random) => {
  const uri = random.one(['', 'note://']) + someText(random, random.rarely(10) ? bounds.uriCharacters : 30)
  expect(typeof uriProblem(uri)).toMatch(/string|undefined/)
  expect(typeof random.one(templates).match(uri)).toMatch(/object|undefined/)
})

describe('over HTTP', () => {
  let server: TestServer
  let session: string

  const json = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' }

  beforeAll(async () => {
    server = await startServer('test/http/bounded')
    const body = JSON.stringify(initialize({}))
    const opened = await fetch(server.url, { method: 'POST', headers: json, body })
    session = opened.headers.get('Mcp-Session-Id') as string
    await opened.body?.cancel()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  /** The message as a client of 2026-07-28 sends it: with what is there of an envelope. */
  function stateless(message: Posted): { message: Posted; headers: Record<string, string> } {
    const params = Object(message.params)
    const meta =
      Array.isArray(params) || ('_meta' in params && Object(params._meta) !== params._meta) ? undefined : params._meta
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, roots: {} },
      ...meta,
    }
    const name = params.name ?? params.uri ?? params.taskId
    const headers: Record<string, unknown> = {
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': message.method,
      'Mcp-Name': name,
    }
    const sendable = Object.entries(headers).filter(
      ([, value]) => typeof value === 'string' && /^[!-~]{1,4000}$/.test(value),
    )
    return {
      message:
        'params' in message && params === message.params ? { ...message, params: { ...params, _meta } } : message,
      headers: Object.fromEntries(sendable) as Record<string, string>,
    }
  }

  property('each response is a result or a defined error', 600, async (random) => {
    const [name, field] = random.one(Object.entries(fields))
    const bare = field.message(someValue(random, random.rarely(4) ? boundOf(field) : 30))
    const isStateless = random.often(0.6)
    const { message, headers } = isStateless
      ? stateless(bare)
      : { message: bare, headers: { 'Mcp-Session-Id': session } }
    const aborted = new AbortController()
    const response = await fetch(server.url, {
      method: 'POST',
      headers: { ...json, ...headers },
      body: JSON.stringify(message),
      signal: aborted.signal,
    })
    const what = `${name} in ${JSON.stringify(message).slice(0, 500)}`
    expect(response.status, what).toBeLessThan(500)
    // Streams of changes stay open.
    if (response.headers.get('Content-Type')?.startsWith('text/event-stream')) return aborted.abort()
    const text = await response.text()
    if (text !== '') expect(JSON.parse(text).error?.code, `${what}: ${text.slice(0, 500)}`).not.toBe(-32603)
  })

  test('the server still responds, and has logged no errors', async () => {
    expect(server.harness.getLogs().filter(({ level }) => level === 'error')).toEqual([])
    const body = JSON.stringify(request('ping', {}))
    expect(
      (await fetch(server.url, { method: 'POST', headers: { ...json, 'Mcp-Session-Id': session }, body })).status,
    ).toBe(200)
  })
})
