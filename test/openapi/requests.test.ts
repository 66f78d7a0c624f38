/** What an operation sends: the developer's headers, never those of a model, and never to another origin. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { findUnscoped } from '../../worker/plugins/auth/declared-scopes.ts'
import {
  type HeadersContext,
  type OpenApiToolsOptions,
  type Operation,
  openApiTools,
  parseOpenApi,
} from '../../worker/plugins/openapi/index.ts'
import { Paths } from '../../worker/plugins/openapi/other-paths.ts'
import { requestBody } from '../../worker/plugins/openapi/request-body.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import type { Result } from '../../worker/protocol/types.ts'
import { newServer, refusal, result, textOf } from '../engine/stage.ts'

const header = (name: string, required = false) => ({ in: 'header', name, required, schema: { type: 'string' } })
const documentOf = (parameters: unknown[]) => ({
  openapi: '3.1.0',
  paths: {
    '/mail': {
      get: { operationId: 'mail', parameters },
      post: { operationId: 'send', parameters, requestBody: { content: { 'application/json': { schema: {} } } } },
    },
  },
})
const ada: Principal = { issuer: 'https://names.example', subject: 'ada', scopes: [], claims: {} }

const listening: Server[] = []
async function listen(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  listening.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
afterEach(() => {
  for (const server of listening.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

const serverOf = (parameters: unknown[], options: OpenApiToolsOptions) =>
  newServer().use(openApiTools(parseOpenApi(documentOf(parameters)), options))
const echo = () => listen((request, response) => response.end(JSON.stringify(request.headers)))
const sentBy = (answered: Result) => JSON.parse(textOf(answered)) as Record<string, string>

test.each([200, 500])('a response of more than 8 MiB is cancelled, with status %i', async (status) => {
  const ended = Promise.withResolvers<void>()
  const megabyte = ' '.repeat(1024 * 1024)
  const endless = function* () {
    for (;;) yield megabyte
  }
  const base = await listen((_, response) => {
    pipeline(Readable.from(endless()), response.writeHead(status), () => ended.resolve())
  })
  const answered = await result(serverOf([], { baseUrl: base }), 'tools/call', { name: 'mail', arguments: {} })
  expect(textOf(answered)).toBe(
    `GET /mail: HTTP ${status} with more than 8388608 bytes for one POST, more than openApiTools() reads: ask for a smaller part`,
  )
  expect(answered).toMatchObject({ isError: true })
  await ended.promise
})

test('a response in a great many pieces is cancelled', async () => {
  let pieces = 0
  const body = new ReadableStream({
    pull(controller) {
      pieces += 1
      if (pieces > 20_000) controller.close()
      else controller.enqueue(new Uint8Array(1))
    },
  })
  vi.stubGlobal('fetch', async () => new Response(body))
  const server = serverOf([], { baseUrl: 'https://api.example' })
  const answered = await result(server, 'tools/call', { name: 'mail', arguments: {} })
  vi.unstubAllGlobals()
  expect(textOf(answered)).toContain('with more than 8388608 bytes for one POST')
  expect(pieces).toBeLessThan(20_000)
})

test('a text that is longer than 8 MiB as JSON is refused', async () => {
  const body = Buffer.alloc(2 * 1024 * 1024 + 1)
  const base = await listen((_, response) => response.writeHead(200, { 'Content-Type': 'text/plain' }).end(answer))
  let answer = Buffer.concat([body, body])
  const call = () => result(serverOf([], { baseUrl: base }), 'tools/call', { name: 'mail', arguments: {} })
  expect(textOf(await call())).toBe(
    'GET /mail: HTTP 200 with a body of more than 8388608 characters of JSON, more than openApiTools() sends: ask for a smaller part',
  )
  answer = body.subarray(0, 1_000)
  expect(textOf(await call())).toBe('\0'.repeat(1_000))
})

test.each<[string, () => string, string]>([
  ['bytes', () => JSON.stringify({ text: 'x'.repeat(3 * 1024 * 1024) }), '8388608 bytes'],
  ['values', () => JSON.stringify({ list: Array(40_000).fill(1) }), '100000 values'],
])('the responses to the calls of one POST have a bound of their %s together', async (_, body, bound) => {
  const base = await listen((_, response) => response.end(body()))
  const server = serverOf([], { baseUrl: base, tools: { mail: { outputSchema: { type: 'object' } } } })
  const call = async (post: object) =>
    textOf(await result(server, 'tools/call', { name: 'mail', arguments: {} }, { post }))
  const batch = {}
  for (let count = 0; count < 2; count += 1) expect(await call(batch)).toBe(body())
  for (let count = 0; count < 2; count += 1) {
    expect(await call(batch)).toBe(
      `GET /mail: HTTP 200 with more than ${bound} for one POST, more than openApiTools() reads: ask for a smaller part`,
    )
  }
  expect(await call({})).toBe(body())
})

test('half of a character in a response is replaced in structured content and its text', async () => {
  const base = await listen((_, response) => response.end(String.raw`{"a":"\ud800","b":"\ud83d\ude00 \\ud800"}`))
  const tools = { mail: { outputSchema: { type: 'object' } } }
  const answered = await result(serverOf([], { baseUrl: base, tools }), 'tools/call', { name: 'mail', arguments: {} })
  expect(answered.structuredContent).toEqual({ a: '\ufffd', b: '\u{1f600} \\ud800' })
  expect(textOf(answered)).toBe(String.raw`{"a":"\ufffd","b":"\ud83d\ude00 \\ud800"}`)
})

test('the body of an error is cut between two characters', async () => {
  const base = await listen((_, response) =>
    response.writeHead(400, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`a${'\u{1f600}'.repeat(1_000)}`),
  )
  const answered = await result(serverOf([], { baseUrl: base }), 'tools/call', { name: 'mail', arguments: {} })
  expect(textOf(answered)).toBe(`GET /mail: HTTP 400. a${'\u{1f600}'.repeat(499)}`)
})

test('a response with too many values for structured content is refused', async () => {
  const base = await listen((_, response) => response.end(`{"list":[{}${',{}'.repeat(100_000)}]}`))
  const tools = { mail: { outputSchema: { type: 'object' } } }
  const answered = await result(serverOf([], { baseUrl: base, tools }), 'tools/call', { name: 'mail', arguments: {} })
  expect(textOf(answered)).toBe(
    'GET /mail: HTTP 200 with more than 100000 values for one POST, more than openApiTools() reads: ask for a smaller part',
  )
})

test('a response with too many levels for structured content is refused', async () => {
  let levels = 1_000
  const base = await listen((_, response) =>
    response.end(`{"list":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`),
  )
  const tools = { mail: { outputSchema: { type: 'object' } } }
  const call = () => result(serverOf([], { baseUrl: base, tools }), 'tools/call', { name: 'mail', arguments: {} })
  expect(await call()).toHaveProperty('structuredContent.list')
  levels = 1_001
  expect(textOf(await call())).toBe(
    'GET /mail: HTTP 200 with more than 1000 levels for one POST, more than openApiTools() reads: ask for a smaller part',
  )
})

test.each([
  ['image/png', 'image'],
  ['Image/JPEG; q=1', 'image'],
  ['audio/wav', 'audio'],
])('a response of the type %s is %s content', async (type, kind) => {
  const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00])
  const base = await listen((_, response) => response.writeHead(200, { 'Content-Type': type }).end(bytes))
  const answered = await result(serverOf([], { baseUrl: base }), 'tools/call', { name: 'mail', arguments: {} })
  const mimeType = type.split(';')[0]?.toLowerCase()
  expect(answered).toEqual({ content: [{ type: kind, data: bytes.toString('base64'), mimeType }] })
})

test.each<[type: string, body: Buffer, text: string]>([
  ['image/svg+xml', Buffer.from('<svg/>'), '<svg/>'],
  ['application/octet-stream', Buffer.from('Grüße'), 'Grüße'],
  ['text/plain; charset=iso-8859-1', Buffer.from('Gr\xfc\xdfe', 'latin1'), 'Grüße'],
  ['text/csv;header=present; Charset="UTF-16LE"', Buffer.from('Grüße', 'utf16le'), 'Grüße'],
  ['application/x-notes; charset=windows-1252', Buffer.from('5 \x80', 'latin1'), '5 €'],
  ['application/json; charset=iso-8859-1', Buffer.from('"Grüße"'), '"Grüße"'],
  ['text/plain; charset=none', Buffer.alloc(0), 'HTTP 200'],
  [
    'text/plain; charset=none',
    Buffer.from('Grüße'),
    'GET /mail: HTTP 200 with 7 bytes of text/plain with the charset "none", which is neither text, image nor audio',
  ],
  ['image/png', Buffer.alloc(0), 'HTTP 200'],
  [
    'application/pdf',
    Buffer.from('%PDF-1.7 \xff\xfe', 'latin1'),
    'GET /mail: HTTP 200 with 11 bytes of application/pdf, which is neither text, image nor audio',
  ],
])('a response of the type %s is text: %s', async (type, body, text) => {
  const base = await listen((_, response) => response.writeHead(200, { 'Content-Type': type }).end(body))
  const answered = await result(serverOf([], { baseUrl: base }), 'tools/call', { name: 'mail', arguments: {} })
  expect(answered).toEqual({ content: [{ type: 'text', text }] })
})

test('an error with a body that is no text is an error without it', async () => {
  const base = await listen((_, response) =>
    response.writeHead(400, { 'Content-Type': 'image/png' }).end(Buffer.from([0x89, 0xff])),
  )
  const answered = await result(serverOf([], { baseUrl: base }), 'tools/call', { name: 'mail', arguments: {} })
  const text = 'GET /mail: HTTP 400 with 2 bytes of image/png'
  expect(answered).toEqual({ content: [{ type: 'text', text }], isError: true })
})

test('a configured header overrides the argument for the same header, in any spelling', async () => {
  const headers = ({ principal }: HeadersContext) => ({ 'x-user-id': principal?.subject ?? 'nobody' })
  const server = serverOf([header('X-User-Id'), header('X-Other')], { baseUrl: await echo(), headers })
  const args = { 'X-User-Id': 'victim', 'X-Other': 'other' }
  const answered = await result(server, 'tools/call', { name: 'mail', arguments: args }, { principal: ada })
  expect(sentBy(answered)).toMatchObject({ 'x-user-id': 'ada', 'x-other': 'other' })
})

test('an argument does not set a header that "headers" returns as undefined, or that has another spelling', async () => {
  const headers = ({ principal }: HeadersContext) => ({
    'X-User-Id': principal?.subject,
    'X-Key': principal ? 'key' : undefined,
  })
  const parameters = [header('X-User-Id'), header('X_Key'), header('X-Other')]
  const server = serverOf(parameters, { baseUrl: await echo(), headers })
  const args = { 'X-User-Id': 'admin', X_Key: 'forged', 'X-Other': 'other' }
  const call = async (principal?: Principal) =>
    sentBy(await result(server, 'tools/call', { name: 'mail', arguments: args }, principal && { principal }))
  const anonymous = await call()
  expect(anonymous).toMatchObject({ 'x-other': 'other' })
  for (const name of ['x-user-id', 'x-key', 'x_key']) expect(anonymous).not.toHaveProperty(name)
  const signedIn = await call(ada)
  expect(signedIn).toMatchObject({ 'x-user-id': 'ada', 'x-key': 'key', 'x-other': 'other' })
  expect(signedIn).not.toHaveProperty('x_key')
})

test.each([
  ['one function', async ({ principal }: HeadersContext) => ({ 'x-user-id': `${principal?.subject}` })],
  ['a function for each', { 'x-user-id': async ({ principal }: HeadersContext) => principal?.subject }],
])('headers can be looked up asynchronously, by %s', async (_, headers) => {
  const server = serverOf([], { baseUrl: await echo(), headers })
  const answered = await result(server, 'tools/call', { name: 'mail', arguments: {} }, { principal: ada })
  expect(sentBy(answered)).toMatchObject({ 'x-user-id': 'ada' })
})

test('headers that a function returns as Headers are sent', async () => {
  const headers = () => new Headers([['X-Key', 'key']])
  const server = serverOf([header('X-Key')], { baseUrl: await echo(), headers })
  const answered = await result(server, 'tools/call', { name: 'mail', arguments: { 'X-Key': 'forged' } })
  expect(sentBy(answered)).toMatchObject({ 'x-key': 'key' })
})

test('a header that a function returns as null is not sent', async () => {
  const headers = (() => ({ 'X-Key': null })) as never
  const server = serverOf([header('X-Key')], { baseUrl: await echo(), headers })
  const answered = await result(server, 'tools/call', { name: 'mail', arguments: { 'X-Key': 'forged' } })
  expect(sentBy(answered)).not.toHaveProperty('x-key')
})

test.each<[value: unknown, found: string, fix: string]>([
  [() => new Map([['X-Key', 'secret']]), 'a Map', 'an object with the headers'],
  [() => [['X-Key', 'secret']], 'an Array', 'an object with the headers'],
  [() => undefined, 'undefined', 'an object with the headers'],
  [() => 'X-Key: secret', 'a string', 'an object with the headers'],
  [() => ({ 'X-Key': 5 }), 'a number as "X-Key"', 'a string'],
  [{ 'X-Key': () => ({ secret: 1 }) }, 'an object as "X-Key"', 'a string'],
])('headers of another type are an error, and nothing is sent: %#', async (headers, found, fix) => {
  const requests: unknown[] = []
  const base = await listen((request, response) => {
    requests.push(request)
    response.end('{}')
  })
  const server = serverOf([], { baseUrl: base, headers: headers as never })
  const answered = await result(server, 'tools/call', { name: 'mail', arguments: {} })
  expect(answered).toMatchObject({ isError: true })
  expect(textOf(answered)).toBe(`"headers" of openApiTools() returned ${found}: return ${fix}`)
  expect(requests).toEqual([])
})

test.each([
  ['that a function returns', (value: string) => () => ({ 'X-Key': value })],
  ['of a function for each', (value: string) => ({ 'X-Key': () => value })],
])('a header %s and HTTP cannot carry is an error without its value, and nothing is sent', async (_, headersWith) => {
  const requests: unknown[] = []
  const base = await listen((request, response) => {
    requests.push(request)
    response.end('{}')
  })
  const server = serverOf([], { baseUrl: base, headers: headersWith('secret\r\nX-Admin: 1') })
  const answered = await result(server, 'tools/call', { name: 'mail', arguments: {} })
  expect(answered).toEqual({
    isError: true,
    content: [
      {
        type: 'text',
        text: '"headers" of openApiTools() has a value for "X-Key" that HTTP cannot carry: return one without line breaks',
      },
    ],
  })
  expect(requests).toEqual([])
})

test('a header of the options that HTTP cannot carry is an error at startup, without its value', () => {
  const options = { baseUrl: 'https://api.example', headers: { 'X-Key': 'secret\n' + 'x' } }
  expect(() => serverOf([], options)).toThrow(
    /^"headers" of openApiTools\(\) has a value for "X-Key" that HTTP cannot carry: return one without line breaks$/,
  )
})

test('a configured header is not an argument', async () => {
  const headers = { 'x-user-id': ({ principal }: HeadersContext) => principal?.subject, 'X-Key': 'secret' }
  const server = serverOf([header('X-User-Id', true), header('X-KEY'), header('X-Other', true)], {
    baseUrl: await echo(),
    headers,
  })
  const [tool] = (await result(server, 'tools/list')).tools as { inputSchema: object }[]
  expect(tool?.inputSchema).toMatchObject({ properties: { 'X-Other': {} }, required: ['X-Other'] })
  expect(JSON.stringify(tool)).not.toMatch(/user-id|x-key/i)
  const call = (args: object, principal: Principal | undefined) =>
    result(server, 'tools/call', { name: 'mail', arguments: { 'X-Other': 'a', ...args } }, principal && { principal })
  expect(sentBy(await call({}, ada))).toMatchObject({ 'x-user-id': 'ada', 'x-key': 'secret', 'x-other': 'a' })
  expect(sentBy(await call({}, undefined))).not.toHaveProperty('x-user-id')
  expect(await call({ 'X-User-Id': 'victim' }, ada)).toMatchObject({ isError: true })
})

describe('a number that JavaScript rounds is not sent', () => {
  const any = { schema: {} }
  const integer = { type: 'integer' }
  const parameters = ['path', 'query', 'header'].map((place) => ({ in: place, name: `in-${place}`, schema: integer }))
  const querystring = {
    in: 'querystring',
    name: 'all',
    content: { 'application/x-www-form-urlencoded': { schema: { type: 'object' } } },
  }
  const bodyOf = (type: string) => ({ requestBody: { content: { [type]: any } } })
  const formOf = (type: string) => ({ requestBody: { content: { [type]: { schema: { type: 'object' } } } } })
  const document = {
    openapi: '3.2.0',
    paths: {
      '/pets/{in-path}': { delete: { operationId: 'remove', parameters } },
      '/a': {
        get: { operationId: 'find', parameters: [querystring] },
        post: { operationId: 'json', ...bodyOf('application/json') },
      },
      '/b': { post: { operationId: 'form', ...formOf('application/x-www-form-urlencoded') } },
      '/c': { post: { operationId: 'parts', ...formOf('multipart/form-data') } },
    },
  }

  async function call(name: string, args: string) {
    const requests: string[] = []
    const base = await listen((request, response) => {
      requests.push(String(request.url))
      response.end('{}')
    })
    const server = newServer().use(openApiTools(parseOpenApi(document), { baseUrl: base }))
    return { answer: await result(server, 'tools/call', { name, arguments: JSON.parse(args) }), requests }
  }

  test.each([
    ['remove', '{"in-path":9007199254740993}', 'in-path'],
    ['remove', '{"in-path":1,"in-query":-9007199254740993}', 'in-query'],
    ['remove', '{"in-path":1,"in-header":9007199254740992}', 'in-header'],
    ['find', '{"all":{"id":1e20}}', 'all.id'],
    ['json', '{"body":9007199254740993}', 'body'],
    ['json', '{"body":{"a":1,"pets":["1",{"id":9007199254740993}]}}', 'body.pets.1.id'],
    ['json', '{"body":{"amount":1e400}}', 'body.amount'],
    ['json', '{"body":[-1e400]}', 'body.0'],
    ['form', '{"body":{"ids":[1,9007199254740993]}}', 'body.ids.1'],
    ['parts', '{"body":{"id":9007199254740993}}', 'body.id'],
  ])('by %s with %s', async (name, args, path) => {
    const { answer, requests } = await call(name, args)
    const text = `"${path}" must be between -9007199254740991 and 9007199254740991, because this server rounds other numbers`
    expect(answer).toEqual({ isError: true, content: [{ type: 'text', text }] })
    expect(requests).toEqual([])
  })

  test('and quantities with an exponent are sent as they are', async () => {
    expect((await call('json', '{"body":{"mole":6.02214076e23,"charge":-1.6e-19}}')).requests).toEqual(['/a'])
    expect((await call('find', '{"all":{"mole":6.02214076e23}}')).requests).toEqual(['/a?mole=6.02214076e%2B23'])
  })

  test('and any other is sent without an exponent', async () => {
    const { requests } = await call('remove', '{"in-path":9007199254740991,"in-query":-9.007199254740991e15}')
    expect(requests).toEqual(['/pets/9007199254740991?in-query=-9007199254740991'])
  })
})

const reserved = [
  ...['Host', 'Cookie', 'authorization', 'Proxy-Authorization', 'Content-Length', 'Content-Type', 'Accept'],
  ...['Connection', 'Keep-Alive', 'TE', 'Trailer', 'Transfer-Encoding', 'Upgrade', 'Expect', 'Origin', 'Referer'],
  ...[
    'MCP-Session-Id',
    'Mcp-Anything',
    'CF-Connecting-IP',
    'X-Forwarded-For',
    'Forwarded',
    'X-Real-IP',
    'Sec-Fetch-Site',
  ],
  ...['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'Via', 'Accept-Encoding'],
]

test.each(reserved)('the header %s is not an argument, in a parsed document or a list of operations', async (name) => {
  const skipped: string[] = []
  const [found] = parseOpenApi(documentOf([header(name, true)]), { onSkipped: (sentence) => skipped.push(sentence) })
  expect(found?.input).toMatchObject({ properties: {}, required: [] })
  // OpenAPI itself ignores some.
  const isIgnored = ['accept', 'content-type', 'authorization'].includes(name.toLowerCase())
  if (isIgnored) expect(skipped).toEqual([])
  else expect(skipped).toContain(`GET /mail without its parameter "${name}": only the server may set that header`)
  const written = {
    ...found,
    parameters: { a: { in: 'header', name } },
    input: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
  }
  const base = await echo()
  const server = newServer().use(openApiTools([written as never], { baseUrl: base }))
  const answered = await result(server, 'tools/call', { name: 'mail', arguments: { a: 'made-up' } })
  expect(Object.values(sentBy(answered))).not.toContain('made-up')
})

test.each([301, 302, 303, 307, 308])('a redirect %i to another origin is not followed', async (status) => {
  const received: unknown[] = []
  const elsewhere = await listen((request, response) => {
    received.push(request.headers)
    response.end('"elsewhere"')
  })
  const base = await listen((_, response) => response.writeHead(status, { Location: `${elsewhere}/x?key=1` }).end())
  const server = serverOf([], { baseUrl: base, headers: { 'X-Key': 'secret', Authorization: 'Bearer secret' } })
  for (const [name, method] of Object.entries({ mail: 'GET', send: 'POST' })) {
    expect(await result(server, 'tools/call', { name, arguments: {} })).toMatchObject({
      isError: true,
      content: [
        {
          text: `${method} /mail redirects to ${elsewhere}/x: openApiTools() follows only redirects of GET or HEAD to the same origin`,
        },
      ],
    })
  }
  expect(received).toEqual([])
})

test.each<[what: string, answer: (response: ServerResponse, url: string) => void, text: string]>([
  ['status', (response) => response.writeHead(401).end('{}'), 'GET /mail: HTTP 401. {}'],
  [
    'type',
    (response) => response.setHeader('Content-Type', 'a/b').end('\xff', 'latin1'),
    'GET /mail: HTTP 200 with 1 bytes of a/b,',
  ],
  [
    'redirect',
    (response, url) => response.writeHead(302, { Location: `https://e.example${url}/` }).end(),
    'GET /mail redirects to https://e.example/mail/: ',
  ],
  [
    'redirect to an invalid URL',
    (response, url) => response.writeHead(302, { Location: `https://${url}` }).end(),
    'GET /mail redirects to an invalid URL: ',
  ],
  [
    'redirect to another path',
    (response, url) => response.writeHead(302, { Location: `https://e.example/x${url}` }).end(),
    'GET /mail redirects to https://e.example: ',
  ],
])('a key in the path of the baseUrl does not reach the model with a %s', async (_, answer, text) => {
  const base = await listen((request, response) => answer(response, String(request.url)))
  const server = serverOf([], { baseUrl: `${base}/bot123:SECRET` })
  const answered = textOf(await result(server, 'tools/call', { name: 'mail', arguments: {} }))
  expect(answered.slice(0, text.length)).toBe(text)
  expect(answered).not.toContain('SECRET')
})

test('a redirect of GET to the same origin is followed, up to a limit', async () => {
  let hops = 0
  const base = await listen((request, response) => {
    hops += 1
    if (request.url === '/end') return void response.end(JSON.stringify(request.headers))
    response.writeHead(302, { Location: request.url === '/mail' && hops > 1 ? '/mail' : '/end' }).end()
  })
  const server = serverOf([], { baseUrl: base, headers: { 'X-Key': 'secret' } })
  const call = () => result(server, 'tools/call', { name: 'mail', arguments: {} })
  expect(sentBy(await call())).toMatchObject({ 'x-key': 'secret' })
  expect(textOf(await call())).toContain('redirects to')
  expect(hops).toBeLessThan(20)
})

test.each(['http://api.example/v1', 'ftp://127.0.0.1', 'api.example', ''])('the baseUrl "%s" is refused', (base) => {
  expect(() => serverOf([], { baseUrl: base })).toThrow(
    `openApiTools(): the baseUrl "${base}" must be an https URL, or http on localhost, as in "https://api.example/v1"`,
  )
})

test('scopes apply to all operations, or to each by a function', async () => {
  const base = await echo()
  const all = serverOf([], { baseUrl: base, scopes: ['mail:read'] })
  expect(await refusal(all, 'tools/call', { name: 'mail' }, { principal: ada })).toMatchObject({
    kind: 'insufficient_scope',
    data: { scopes: ['mail:read'] },
  })
  const each = serverOf([], { baseUrl: base, scopes: ({ method }) => (method === 'GET' ? [] : ['mail:write']) })
  expect(await result(each, 'tools/call', { name: 'mail', arguments: {} }, { principal: ada })).toHaveProperty(
    'content',
  )
  expect(await refusal(each, 'tools/call', { name: 'send' }, { principal: ada })).toMatchObject({
    data: { scopes: ['mail:write'] },
  })
  expect(findUnscoped(each)).toEqual([])
  expect(findUnscoped(serverOf([], { baseUrl: base }))).toEqual(['the tool "mail"', 'the tool "send"'])
})

test.each(['https://api.example/v1?key=SECRET', 'https://api.example/#part', 'https://me:secret@api.example'])(
  'the baseUrl "%s" with a query, fragment or credentials is refused',
  (base) => {
    expect(() => serverOf([], { baseUrl: base })).toThrow(
      `openApiTools(): the baseUrl on ${new URL(base).host} must have no query, fragment or credentials: send keys by "headers"`,
    )
  },
)

test.each([{ timeout: 0 }, { attemptTimeout: '0s' }])('the timeout %j is refused', (options) => {
  expect(() => serverOf([], { baseUrl: 'https://api.example', ...options })).toThrow(
    'of openApiTools() must be at least 1 ms',
  )
})

test.each(['@evil.example/x', '.evil.example/x', ':9/x', 'x'])(
  'a path "%s" that does not start with a slash is refused',
  (path) => {
    const document = { openapi: '3.1.0', paths: { [path]: { get: { operationId: 'mail' } } } }
    expect(() => parseOpenApi(document)).toThrow(`GET ${path}: a path must start with "/"`)
    const [operation] = parseOpenApi({ openapi: '3.1.0', paths: { '/x': { get: { operationId: 'mail' } } } })
    const list = [{ ...operation, path } as Operation]
    expect(() => newServer().use(openApiTools(list, { baseUrl: 'https://api.example' }))).toThrow(
      `openApiTools(): the path "${path}" of "mail" must start with "/"`,
    )
  },
)

const credentials =
  'X-Api-Key Api-Key X-Auth-Token X-Access-Token X-Amz-Security-Token X-Goog-Api-Key Private-Token X-CSRF-Token Remote-User ' +
  'X-Remote-User X-Authenticated-User X-Originating-IP X-Remote-IP X-Remote-Addr Client-IP Fastly-Client-IP X-Azure-ClientIP ' +
  'X-Envoy-External-Address Forwarded-For X-Forwarded X-Host X-HTTP-Host-Override Traceparent X_Forwarded_For ' +
  'Ocp-Apim-Subscription-Key X-Auth-Key X-Auth-Email X-Functions-Key X-Master-Key X-Secret-Key X-Service-Key Private-Key X-Passwd DPoP X-Arr-ClientCert ' +
  'X-Vercel-Forwarded-For X-NF-Client-Connection-IP X-Azure-SocketIP X-ProxyUser-Ip X-User-IP X-Envoy-Original-Path X-Replaced-Path ' +
  'X-RapidAPI-Key X-Mashape-Key X-Client-DN L5d-Client-Id X-Vercel-Protection-Bypass X-Middleware-Subrequest X-Tunneled-Method ' +
  'X-CSRFToken X-Session-Id X-SessionToken X-JWT X-Passphrase CB-ACCESS-PASSPHRASE X-Otp ' +
  'Proxy Http_Proxy X-Sid Session X-Session X-PIN X-Bearer X-Tokens X-Api-Keys Api-Key-Id X-Access-Key-Id X-Token-Id X-Csrf X-XSRF ' +
  'X-Signature Signature Signature-Input X-Hub-Signature-256 CloudFront-Viewer-Address CloudFront-Viewer-Tls Alt-Used'

/** What proxies and gateways tell the server behind them about the user. */
const identities =
  'X-Forwarded-User X-Forwarded-Email Cf-Access-Authenticated-User-Email Cf-Access-Jwt-Assertion X-Auth-Request-User X-Auth-Request-Email ' +
  'X-WebAuth-User Remote-Name Remote-Email Remote-Groups X-Remote-Group X-Remote-Extra-Scopes Impersonate-User Impersonate-Group ' +
  'X-Amzn-Oidc-Data X-Amzn-Oidc-Identity X-Goog-Authenticated-User-Email X-Goog-Iap-Jwt-Assertion X-Ms-Client-Principal ' +
  'X-Ms-Client-Principal-Id X-Ms-Token-Aad-Id-Token X-Consumer-Username X-Consumer-Custom-Id X-Credential-Identifier ' +
  'X-Authenticated-Userid X-Authenticated-Scope X-Authentik-Username X-Pomerium-Claim-Email Tailscale-User-Login ' +
  'X-Endpoint-Api-Userinfo X-Apigateway-Api-Userinfo X-Vouch-User X-Client-Cert Ssl-Client-S-Dn X-Ssl-Client-Verify Client-Cert ' +
  'X-Spiffe-Id X-Jwt-Assertion X-AppEngine-User-Email X-Impersonate-User OIDC_CLAIM_sub X-WebAuth-Role X-WebAuth-Email X-Jwt-Payload X-Hasura-Role X-Hasura-User-Id X-Consumer-Groups ' +
  'X-User X-Shib-User X-Api-User X-Remote-User-Id X-Groups X-Roles X-User-Roles X-Consumer-Name X-On-Behalf-Of X-Sudo Sudo'

test.each(identities.split(' '))(
  'the header %s, in which a gateway names the user, is not an argument',
  async (name) => {
    const server = serverOf([header(name)], { baseUrl: 'https://api.example' })
    expect(JSON.stringify((await result(server, 'tools/list')).tools)).not.toContain(name)
  },
)

test.each(credentials.split(' '))('the header %s, for credentials or addresses, is not an argument', async (name) => {
  const server = serverOf([header(name)], { baseUrl: 'https://api.example' })
  expect(JSON.stringify((await result(server, 'tools/list')).tools)).not.toContain(name)
})

test.each([
  ...['Idempotency-Key', 'If-None-Match', 'X-Request-Id', 'X-Tokens-Per-Page', 'Accept-Language'],
  ...['X-Client-Version', 'X-Zip', 'X-Consumer-Group-Size', 'Remote-Branch', 'Prefer', 'X-Author'],
  ...['X-Partition-Key', 'X-Monkey', 'X-User-Id', 'X-Tenant', 'X-User-Agent-Hint', 'X-Group', 'X-Session-Length'],
  ...['X-Shipping', 'X-Mapping', 'X-Inside', 'X-Reside', 'X-Pin-Code', 'X-Proxy-Count', 'X-Design', 'X-Key', 'X-Keys'],
])('the header %s is an argument', async (name) => {
  const server = serverOf([header(name)], { baseUrl: 'https://api.example' })
  expect(JSON.stringify((await result(server, 'tools/list')).tools)).toContain(name)
})

test('a header that a security scheme of the document names is not an argument', () => {
  const securitySchemes = {
    shop: { type: 'apiKey', in: 'header', name: 'X-Shop' },
    other: { $ref: '#/components/x-schemes/other' },
    query: { type: 'apiKey', in: 'query', name: 'X-Query' },
  }
  const components = { securitySchemes, 'x-schemes': { other: { type: 'apiKey', in: 'header', name: 'x_other' } } }
  const parameters = ['x-shop', 'X-Other', 'X-Query'].map((name) => header(name, true))
  const skipped: string[] = []
  const onSkipped = (sentence: string) => skipped.push(sentence)
  const [found] = parseOpenApi({ ...documentOf(parameters), components }, { onSkipped })
  expect(Object.keys(found?.parameters ?? {})).toEqual(['X-Query'])
  expect(skipped).toContain('GET /mail without its parameter "x-shop": only the server may set that header')
})

test('a configured header is not an argument in a spelling with underscores', async () => {
  const server = serverOf([header('X_Customer')], { baseUrl: 'https://api.example', headers: { 'X-Customer': 'ada' } })
  expect(JSON.stringify((await result(server, 'tools/list')).tools)).not.toContain('X_Customer')
})

test('a body is sent with the JSON media type of the document', async () => {
  const document = (type: string) => ({
    openapi: '3.1.0',
    paths: {
      '/mail': { patch: { operationId: 'mail', requestBody: { content: { [type]: { schema: {} } } } } },
    },
  })
  for (const type of ['application/merge-patch+json', 'application/json; charset=utf-8', 'application/json']) {
    const server = newServer().use(openApiTools(parseOpenApi(document(type)), { baseUrl: await echo() }))
    const answered = await result(server, 'tools/call', { name: 'mail', arguments: { body: { a: null } } })
    expect(sentBy(answered)['content-type']).toBe(type.replace('; charset=utf-8', ''))
  }
})

test('an operation with an undeclared path parameter is left out', () => {
  const left: string[] = []
  const document = { openapi: '3.1.0', paths: { '/pets/{petId}': { get: { operationId: 'pet' } } } }
  expect(parseOpenApi(document, { onSkipped: (sentence) => left.push(sentence) })).toEqual([])
  expect(left).toEqual(['GET /pets/{petId}, which does not declare the parameter "petId" of its path'])
})

test('a readOnly property is not an argument, required or not', async () => {
  const Pet = {
    type: 'object',
    required: ['id', 'name'],
    properties: { id: { type: 'integer', readOnly: true }, name: { type: 'string' } },
  }
  const document = {
    openapi: '3.0.3',
    components: { schemas: { Pet } },
    paths: {
      '/pets': {
        post: {
          operationId: 'add',
          requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } } },
        },
      },
    },
  }
  const server = newServer().use(
    openApiTools(parseOpenApi(document), { baseUrl: await listen((request, response) => void request.pipe(response)) }),
  )
  const answered = await result(server, 'tools/call', { name: 'add', arguments: { body: { name: 'Rex' } } })
  expect(textOf(answered)).toBe('{"name":"Rex"}')
})

describe('a parameter with a list', () => {
  const list = { type: 'array', items: { type: 'string' } }
  const sent = async (path: string, parameter: object, ids: string | string[]) => {
    const base = await listen((request, response) => response.end(request.url))
    const document = { openapi: '3.1.0', paths: { [path]: { get: { operationId: 'get', parameters: [parameter] } } } }
    const server = newServer().use(openApiTools(parseOpenApi(document), { baseUrl: base }))
    return textOf(await result(server, 'tools/call', { name: 'get', arguments: { ids } }))
  }

  test.each([
    [{}, '/x?ids=a&ids=b%2Cc%7Cd+e'],
    [{ explode: false }, '/x?ids=a,b%2Cc%7Cd+e'],
    [{ style: 'pipeDelimited', explode: false }, '"b,c|d e" would be several entries of "ids": it has their separator'],
    [
      { style: 'spaceDelimited', explode: false },
      '"b,c|d e" would be several entries of "ids": it has their separator',
    ],
  ])('in a query with %j is sent as %s', async (style, url) => {
    expect(await sent('/x', { in: 'query', name: 'ids', schema: list, ...style }, ['a', 'b,c|d e'])).toBe(url)
  })

  test.each([
    ['pipeDelimited', ['a', 'b,c d+%7C'], '/x?ids=a%7Cb%2Cc+d%2B%257C'],
    ['spaceDelimited', ['a', 'b,c|d+%20'], '/x?ids=a+b%2Cc%7Cd%2B%2520'],
  ])('in a query with the style %s has entries without the separator: %j', async (style, ids, url) => {
    expect(await sent('/x', { in: 'query', name: 'ids', schema: list, style, explode: false }, ids)).toBe(url)
  })

  test.each([
    [{}, '/x/a,b%2Cc.d%3Be'],
    [{ style: 'simple', explode: true }, '/x/a,b%2Cc.d%3Be'],
    [{ style: 'label' }, '/x/.a,b%2Cc.d%3Be'],
    [{ style: 'label', explode: true }, '"b,c.d;e" would be several entries of "ids": it has their separator'],
    [{ style: 'matrix' }, '/x/;ids=a,b%2Cc.d%3Be'],
    [{ style: 'matrix', explode: true }, '/x/;ids=a;ids=b%2Cc.d%3Be'],
  ])('in a path with %j is sent as %s', async (style, url) => {
    const parameter = { in: 'path', name: 'ids', required: true, schema: list, ...style }
    expect(await sent('/x/{ids}', parameter, ['a', 'b,c.d;e'])).toBe(url)
  })

  test('in a path of the style label is told from a text', async () => {
    const parameter = {
      in: 'path',
      name: 'ids',
      required: true,
      schema: { type: 'string' },
      style: 'label',
      explode: true,
    }
    const document = {
      openapi: '3.1.0',
      paths: { '/x/{ids}': { get: { operationId: 'get', parameters: [parameter] } } },
    }
    const base = await listen((request, response) => response.end(request.url))
    const server = newServer().use(openApiTools(parseOpenApi(document), { baseUrl: base }))
    expect(textOf(await result(server, 'tools/call', { name: 'get', arguments: { ids: 'a.b' } }))).toBe('/x/.a.b')
  })

  test.each([
    [['a', 'b.c d'], 'a,b.c d'],
    [['a', 'b,c'], '"b,c" would be several entries of "ids": it has their separator'],
  ])('in a header has entries without the separator: %j', async (ids, sent) => {
    const base = await listen(({ headers }, response) => response.end(headers.ids))
    const server = serverOf([{ in: 'header', name: 'ids', schema: list }], { baseUrl: base })
    expect(textOf(await result(server, 'tools/call', { name: 'mail', arguments: { ids } }))).toBe(sent)
  })

  const text = { in: 'path', name: 'ids', required: true, schema: { type: 'string' } }

  const climbing = ['../admin', 'a/../../admin', '..\\admin', '..;a', 'a/..', '..\0', 'a/./b', '..?a', '.\t./a']
  test.each([...climbing, '%2e%2E/admin', '..%2fadmin', '%252e%252e%252fadmin', '%2e', '..%5Cadmin'])(
    'in a path is no way to another path, also for an API that decodes it first: %j',
    async (id) => {
      expect(await sent('/x/{ids}', text, id)).toContain('cannot be a segment of the path /x/{ids}')
    },
  )

  test.each([
    ['main...next', '/x/main...next'],
    ['docs/..a/b.', '/x/docs%2F..a%2Fb.'],
    ['a..', '/x/a..'],
    ['...', '/x/...'],
    ['100%2', '/x/100%252'],
  ])('in a path may have dots: %s', async (id, path) => {
    expect(await sent('/x/{ids}', text, id)).toBe(path)
  })

  test('in a path of the style label never makes another path', async () => {
    const parameter = { in: 'path', name: 'ids', required: true, schema: list, style: 'label' }
    expect(await sent('/x/{ids}', parameter, ['.'])).toBe('".." cannot be a segment of the path /x/{ids}')
  })

  test('in a path with several separators is counted with them', async () => {
    const parameter = { in: 'path', name: 'ids', required: true, schema: list, style: 'matrix', explode: true }
    const joined = vi.spyOn(Array.prototype, 'join')
    expect(await sent('/x/{ids}', parameter, Array(100_000).fill(''))).toBe(
      'The arguments make a URL of more than 65536 characters: send less',
    )
    const entries = joined.mock.contexts.map((context) => (context as unknown[]).length)
    joined.mockRestore()
    expect(Math.max(0, ...entries)).toBeLessThan(100_000)
  })
})

describe('a path with several arguments', () => {
  const call = async (path: string, args: Record<string, string>) => {
    const base = await listen((request, response) => response.end(request.url))
    const parameters = Object.keys(args).map((name) => ({ in: 'path', name, required: true, schema: {} }))
    const document = { openapi: '3.1.0', paths: { [path]: { get: { operationId: 'get', parameters } } } }
    const server = newServer().use(openApiTools(parseOpenApi(document), { baseUrl: `${base}/v1` }))
    return textOf(await result(server, 'tools/call', { name: 'get', arguments: args }))
  }

  test.each([
    ['/files/{name}.{format}', { name: '/', format: './users' }, '..'],
    ['/files/{name}.{format}', { name: 'a/.', format: '/users' }, '..'],
    ['/files/{a}{b}', { a: '.', b: '.' }, '..'],
    ['/files/{a}{b}', { a: '%2', b: 'e' }, '.'],
    ['/files/..{a}', { a: ';b' }, '..;b'],
    ['/a/../files/{a}', { a: '..' }, '..'],
  ])('%s is no way to another path: %j', async (path, args, segment) => {
    expect(await call(path, args)).toBe(`"${segment}" cannot be a segment of the path ${path}`)
  })

  test.each([
    ['/files/{name}.{format}', { name: 'a', format: 'tar.gz' }, '/v1/files/a.tar.gz'],
    ['/files/{name}.{format}', { name: 'a/b', format: 'c/d' }, '/v1/files/a%2Fb.c%2Fd'],
    ['/a/../files/{a}', { a: 'b' }, '/v1/files/b'],
  ])('%s may have dots, and those of its own: %j', async (path, args, url) => {
    expect(await call(path, args)).toBe(url)
  })
})

describe('the path of another operation', () => {
  const get = (operationId: string, ...names: string[]) => ({
    get: { operationId, parameters: names.map((name) => ({ in: 'path', name, required: true, schema: {} })) },
  })
  const user = { '/users/{id}': get('user', 'id') }
  const csv = { post: { operationId: 'csv', requestBody: { required: true, content: { 'text/csv': {} } } } }
  const paths = {
    ...user,
    '/users/{id}/keys': get('keys', 'id'),
    '/users/export': get('export'),
    '/users/größe': get('size'),
    '/users': get('users'),
    '/users/import': csv,
    '/files/{name}.{format}': get('file', 'name', 'format'),
    '/files/list.json': get('files'),
    '/files/{name}.csv/{part}': get('part', 'name', 'part'),
    '/files/{a}/{b}': get('pair', 'a', 'b'),
    '/wiki/{title}': get('page', 'title'),
    '/wiki/{title}/history': get('history', 'title'),
    '/users/{id}/map?at={place}': get('map', 'id', 'place'),
    '/users/{id}/map/b': get('mapB', 'id'),
    '/x/{id}': get('rest', 'id'),
    '/x/{id}/{part}': get('restPart', 'id', 'part'),
    '/projects/{id}/files/{path}': get('projectFile', 'id', 'path'),
    '/projects/trash/files/{path}': get('trashFile', 'path'),
    '/{kind}/all': get('all', 'kind'),
    '/{kind}/{a}/{b}/{c}': get('four', 'kind', 'a', 'b', 'c'),
    '/y/{a}/b/{b}': get('y', 'a', 'b'),
    '/y/all/{c}': get('yAll', 'c'),
    '/y/{a}/end': get('yEnd', 'a'),
    '/m/{ids}': {
      get: {
        operationId: 'matrix',
        parameters: [{ in: 'path', name: 'ids', required: true, schema: { type: 'array' }, style: 'matrix' }],
      },
    },
    '/m': get('m'),
    '/n/{id}{ids}': {
      get: {
        operationId: 'matrixOf',
        parameters: [
          { in: 'path', name: 'id', required: true, schema: {} },
          { in: 'path', name: 'ids', required: true, schema: { type: 'array' }, style: 'matrix' },
        ],
      },
    },
    '/n/{id}': get('n', 'id'),
    '/{kind}/purge': csv,
    '/reports/{id}': get('report', 'id'),
    '/reports/{id}.csv': get('reportCsv', 'id'),
    '/reports/latest': get('latest'),
  }
  const call = async (name: string, args: object, document: object = paths) => {
    const base = await listen((request, response) => response.end(request.url))
    const list = parseOpenApi({ openapi: '3.1.0', paths: document })
    const server = newServer().use(openApiTools(list, { baseUrl: `${base}/v1`, exclude: ['size'] }))
    return textOf(await result(server, 'tools/call', { name, arguments: args }))
  }

  const ids = ['export', 'export/', '/export', 'EXPORT', 'export?x', 'export#', 'export;a=b', 'export\0', 'ex\tport']
  test.each([
    ...[...ids, '%65xport', '%2565xport'].map((id) => ['user', { id }, '/users/export'] as const),
    ['keys', { id: 'export?' }, '/users/export'],
    ['user', { id: 'größe' }, '/users/größe'],
    ['user', { id: 'import' }, '/users/import'],
    ['user', { id: '/' }, '/users'],
    ['user', { id: '1/keys' }, '/users/{id}/keys'],
    ['user', { id: '1\\keys' }, '/users/{id}/keys'],
    ['file', { name: 'list', format: 'json' }, '/files/list.json'],
    ['pair', { a: 'a.csv', b: 'b' }, '/files/{name}.csv/{part}'],
    // A server that splits the path first has these as one segment.
    ...['dir/a.txt', '/', '\\', '?', '#', ';', '\0', '\t', '%2F', '%3B', 'a/b?c'].map(
      (path) => ['projectFile', { id: 'trash', path }, '/projects/trash/files/{path}'] as const,
    ),
    ...['trash;x', 'trash/', '/trash', 'TRASH', '%74rash'].flatMap((id) =>
      ['?', '%3B', '%2F', 'a%2Fb', '\\'].map(
        (path) => ['projectFile', { id, path }, '/projects/trash/files/{path}'] as const,
      ),
    ),
    ['pair', { a: 'a/b', b: 'all' }, '/{kind}/{a}/{b}/{c}'],
    ['rest', { id: 'all' }, '/{kind}/all'],
    ['rest', { id: 'group/project' }, '/x/{id}/{part}'],
    // Its own path has "b" where this has "c".
    ['y', { a: '/', b: 'c/d' }, '/{kind}/{a}/{b}/{c}'],
    // Some routers count the literal characters of the whole path.
    ['yAll', { c: 'end' }, '/y/{a}/end'],
    ...[';', ';x', '/;', ';/', '%3B', '%253B', '\t', '\\;'].map((id) => ['user', { id }, '/users'] as const),
    ['keys', { id: ';' }, '/users/{id}'],
    ...[
      'export.json',
      'export.',
      'export ',
      'export. .',
      'export.json;x',
      'export.json.gz',
      'export.x-y',
      'export.a b',
    ].map((id) => ['user', { id }, '/users/export'] as const),
    ['reportCsv', { id: 'latest' }, '/reports/latest'],
    ['reportCsv', { id: '5;x' }, '/reports/{id}'],
    ['reportCsv', { id: '%3B;x' }, '/reports/{id}'],
    ['keys', { id: ' ' }, '/users/{id}'],
    ['four', { kind: 'files', a: ' ', b: '?', c: 'x' }, '/files/{a}/{b}'],
    ['user', { id: 'purge' }, '/{kind}/purge'],
  ] as const)('is not sent for an argument: %s %j', async (name, args, other) => {
    expect(await call(name, args)).toContain(` is another operation, of the path ${other}`)
  })

  test.each([
    ['user', { id: 'exports' }, '/v1/users/exports'],
    ['user', { id: 'a/export' }, '/v1/users/a%2Fexport'],
    ['keys', { id: 'export' }, '/v1/users/export/keys'],
    ['map', { id: '1', place: 'a/b' }, '/v1/users/1/map?at=a%2Fb'],
    ['export', {}, '/v1/users/export'],
    ['users', {}, '/v1/users'],
    ['file', { name: 'list', format: 'csv' }, '/v1/files/list.csv'],
    ['pair', { a: 'csv', b: 'b' }, '/v1/files/csv/b'],
    ['history', { title: 'C#' }, '/v1/wiki/C%23/history'],
    ['report', { id: 'group/project' }, '/v1/reports/group%2Fproject'],
    ['projectFile', { id: '1', path: 'dir/sub dir/a.txt?' }, '/v1/projects/1/files/dir%2Fsub%20dir%2Fa.txt%3F'],
    ['reportCsv', { id: '5' }, '/v1/reports/5.csv'],
    ['report', { id: 'a.b' }, '/v1/reports/a.b'],
    ['user', { id: 'ada@example.com' }, '/v1/users/ada%40example.com'],
    ['matrix', { ids: ['a', 'b'] }, '/v1/m/;ids=a,b'],
    ['matrix', { ids: [';'] }, '/v1/m/;ids=%3B'],
    ['matrixOf', { id: '5', ids: ['a'] }, '/v1/n/5;ids=a'],
  ])('is told from others: %s %j', async (name, args, url) => {
    expect(await call(name, args)).toBe(url)
  })

  test.each([
    ['export', '/v1/users/export'],
    ['a/b/c', '/v1/users/a%2Fb%2Fc'],
    [';', '/v1/users/%3B'],
  ])('is that of a document: without it, an id may be any text: %j', async (id, url) => {
    expect(await call('user', { id }, { ...user, '/sizes': get('size') })).toBe(url)
  })

  test.each(['a/'.repeat(10_000), ';/'.repeat(10_000), 'é/'.repeat(7_000), '%41a'.repeat(8_000), '%ffa'.repeat(8_000)])(
    'takes little work for a long argument (%#)',
    (id) => {
      const known = new Paths(['/users/{id}', '/users/{id}/{part}', '/users/{id}/keys', '/users/export'])
      const split = vi.spyOn(String.prototype, 'split')
      known.findOther('/users/{id}', `/users/${encodeURIComponent(`${id}keys`)}`)
      const pieces = split.mock.results.reduce((sum, { value }) => sum + value.length, 0)
      split.mockRestore()
      expect(pieces).toBeLessThan(1_000)
    },
  )
})

test('fields have the bytes of application/x-www-form-urlencoded', () => {
  const ascii = String.fromCharCode(...Array.from({ length: 128 }, (_, code) => code))
  for (const text of [ascii, 'größer 😀', '%20+%2B', '', 'a.b*c-d_9', "!!'' (())~~", 'a\n']) {
    const name = text.replaceAll(/\p{Cc}/gu, '')
    expect(requestBody({ bodyType: 'application/x-www-form-urlencoded' }, { [name]: text })).toBe(
      new URLSearchParams([[name, text]]).toString(),
    )
  }
})

describe('an argument that is null', () => {
  const nullable = { type: ['string', 'null', 'array'], items: { type: ['string', 'null'] } }
  const call = async (args: object) => {
    const base = await listen((request, response) => response.end(`${request.url} ${request.headers['x-a']}`))
    const parameters = [
      { in: 'path', name: 'id', required: true, schema: nullable },
      { in: 'query', name: 'q', schema: nullable },
      { in: 'header', name: 'X-A', schema: nullable },
    ]
    const document = { openapi: '3.1.0', paths: { '/x/{id}': { get: { operationId: 'get', parameters } } } }
    const server = newServer().use(openApiTools(parseOpenApi(document), { baseUrl: base }))
    return textOf(await result(server, 'tools/call', { name: 'get', arguments: args }))
  }

  test.each([[null], [[null]]])('is no segment of a path: %j', async (id) => {
    expect(await call({ id })).toBe('"" cannot be a segment of the path /x/{id}')
  })

  test('is not sent', async () => {
    expect(await call({ id: 'a', q: null, 'X-A': null })).toBe('/x/a undefined')
  })

  test('is not sent as an entry of a list', async () => {
    const list = ['a', null, 'b']
    expect(await call({ id: list, q: list, 'X-A': list })).toBe('/x/a,b?q=a&q=b a,b')
  })
})

test('quotes in names of a form, and line breaks in those of files, do not end the header of a part', async () => {
  const file = { data: '', filename: 'a\r\n"b', mimeType: 'text/plain\r\nX: 1' }
  const form = requestBody(
    { bodyType: 'multipart/form-data', bodyFields: { 'f"': { isFile: true }, t: { contentType: 'a/b\r\nX: 1' } } },
    { 'a"b': 'text\r\n', 'f"': file, t: 't' },
  ) as Blob
  const [boundary = ''] = (await form.text()).split('\r\n')
  expect((await form.text()).split(`${boundary}\r\n`)).toEqual([
    '',
    'Content-Disposition: form-data; name="a%22b"\r\n\r\ntext\r\n\r\n',
    'Content-Disposition: form-data; name="t"\r\n\r\nt\r\n',
    `Content-Disposition: form-data; name="f%22"; filename="a%0D%0A%22b"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n${boundary}--\r\n`,
  ])
})

describe('a body that is a form', () => {
  const posted = async (type: string, schema: object, body: unknown, encoding = {}, more = {}) => {
    const base = await listen((request, response) => {
      const { headers } = request
      request.setEncoding('latin1')
      let received = ''
      request.on('data', (text) => {
        received += text
      })
      request.on('end', () => response.end(JSON.stringify({ type: headers['content-type'], body: received })))
    })
    const requestBody = { content: { [type]: { schema, encoding } } }
    const document = { openapi: '3.1.0', paths: { '/x': { post: { operationId: 'add', requestBody } } }, ...more }
    const server = newServer().use(openApiTools(parseOpenApi(document), { baseUrl: base }))
    return textOf(await result(server, 'tools/call', { name: 'add', arguments: { body } }))
  }
  /** Returns the fields of the form that was sent, in their order: texts as they are, files with their name in a list. */
  const multipart = async (schema: object, body: unknown, more = {}) => {
    const answered = await posted('multipart/form-data', schema, body, {}, more)
    if (!answered.startsWith('{')) return answered
    const sent = JSON.parse(answered)
    const headers = { 'Content-Type': sent.type }
    const form = await new Response(Buffer.from(sent.body, 'latin1'), { headers }).formData()
    return [...form].map(([name, value]) => [name, typeof value === 'string' ? value : [value.name]])
  }
  const urlEncoded = 'application/x-www-form-urlencoded'
  const strings = { type: 'array', items: { type: 'string' } }
  const properties = { To: { type: 'string' }, MediaUrl: strings, price: { type: 'object' }, expand: strings }

  test.each<[body: object, encoding: object, text: string]>([
    [
      { To: '+1 & 2', MediaUrl: ['https://a/?b=c', 'd'] },
      {},
      'To=%2B1+%26+2&MediaUrl=https%3A%2F%2Fa%2F%3Fb%3Dc&MediaUrl=d',
    ],
    [{ To: 'ü', absent: null, constructor: true, n: 1.5 }, {}, 'To=%C3%BC&constructor=true&n=1.5'],
    [{ price: { a: 1 } }, {}, 'price=%7B%22a%22%3A1%7D'],
    [
      { price: { currency: 'eur', tiers: [{ up_to: 5 }, { up_to: 'inf' }] }, expand: ['a.b', 'c&'] },
      { price: { style: 'deepObject', explode: true }, expand: { style: 'deepObject', explode: true } },
      'price%5Bcurrency%5D=eur&price%5Btiers%5D%5B0%5D%5Bup_to%5D=5&price%5Btiers%5D%5B1%5D%5Bup_to%5D=inf&expand%5B0%5D=a.b&expand%5B1%5D=c%26',
    ],
    [{ MediaUrl: ['a', 'b,c'] }, { MediaUrl: { explode: false } }, 'MediaUrl=a,b%2Cc'],
    [{ MediaUrl: ['a', 'b,c'] }, { MediaUrl: { style: 'pipeDelimited' } }, 'MediaUrl=a%7Cb%2Cc'],
    [{}, {}, ''],
  ])('sends %j with the encoding %j', async (body, encoding, text) => {
    const schema = { allOf: [{ type: 'object', properties }] }
    expect(JSON.parse(await posted(urlEncoded, schema, body, encoding))).toEqual({ type: urlEncoded, body: text })
  })

  test('sends files, which are base64 for the model', async () => {
    const schema = {
      type: 'object',
      required: ['file'],
      properties: {
        file: { type: 'string', format: 'binary', description: 'The recording' },
        more: { type: 'array', items: { contentMediaType: 'image/png' } },
        tags: strings,
      },
    }
    const data = Buffer.from([0xff, 0, 0x0d]).toString('base64')
    const body = {
      file: { data, filename: 'a.mp3', mimeType: 'audio/mpeg' },
      more: [{ data }, { data }],
      tags: ['x', 'ü'],
    }
    const sent = JSON.parse(await posted('multipart/form-data', schema, body))
    const form = await new Response(Buffer.from(sent.body, 'latin1'), {
      headers: { 'Content-Type': sent.type },
    }).formData()
    const files = [...form.getAll('file'), ...form.getAll('more')] as File[]
    expect(files.map(({ name, type }) => [name, type])).toEqual([
      ['a.mp3', 'audio/mpeg'],
      ['more', 'application/octet-stream'],
      ['more', 'application/octet-stream'],
    ])
    expect([...(await (files[0] as File).bytes())]).toEqual([0xff, 0, 0x0d])
    expect(form.getAll('tags')).toEqual(['x', 'ü'])
    expect(await posted('multipart/form-data', schema, { file: { data: '!' } })).toBe(
      'The "data" of the file "file" must be base64',
    )
    expect(await posted('multipart/form-data', schema, { file: 'text' })).toContain('Invalid arguments for add')
  })

  const binary = { type: 'string', format: 'binary' }
  const file = { data: 'YQ==', filename: 'a.png' }
  const text = { type: 'string' }
  const object = (properties: object, others = {}) => ({ type: 'object', properties, ...others })
  const json = '{"data":"YQ==","filename":"a.png"}'
  const meta = object({ data: text, filename: text })
  test.each<[what: string, schema: object, body: object, sent: unknown]>([
    [
      'in additionalProperties',
      object({ meta }, { additionalProperties: binary }),
      { meta: file, a: file },
      [
        ['meta', json],
        ['a', ['a.png']],
      ],
    ],
    [
      'in a list of additionalProperties',
      object({}, { additionalProperties: { type: 'array', items: binary } }),
      { a: [file, file] },
      [
        ['a', ['a.png']],
        ['a', ['a.png']],
      ],
    ],
    [
      'in patternProperties',
      object({ meta }, { patternProperties: { '^file_': binary, '^text_': text } }),
      { file_a: file, text_a: 'a', meta: file },
      [
        ['text_a', 'a'],
        ['meta', json],
        ['file_a', ['a.png']],
      ],
    ],
    [
      'in unevaluatedProperties',
      { allOf: [object({})], unevaluatedProperties: binary },
      { a: file },
      [['a', ['a.png']]],
    ],
    [
      'in additionalProperties beside a property',
      { allOf: [object({ a: {} }), { additionalProperties: binary }] },
      { a: file },
      [['a', ['a.png']]],
    ],
    [
      'in additionalProperties of an alternative',
      { anyOf: [object({ n: { type: 'integer' } }), object({}, { additionalProperties: binary })] },
      { a: file },
      [['a', ['a.png']]],
    ],
    [
      'of a type with a reference',
      object({}, { additionalProperties: { $ref: '#/components/schemas/File' } }),
      { a: file },
      [['a', ['a.png']]],
    ],
    [
      'in a property of an alternative',
      { anyOf: [object({ a: binary }), object({ b: text })] },
      { a: file },
      [['a', ['a.png']]],
    ],
    [
      'in a property of a condition',
      object({ k: text }, { if: { required: ['z'] }, else: { properties: { a: binary } } }),
      { k: 'x', a: file },
      [
        ['k', 'x'],
        ['a', ['a.png']],
      ],
    ],
    [
      'in a dependent schema',
      object({ k: text }, { dependentSchemas: { k: { properties: { a: binary } } } }),
      { k: 'x', a: file },
      [
        ['k', 'x'],
        ['a', ['a.png']],
      ],
    ],
    [
      'in allOf of a property',
      object({ a: { allOf: [{ $ref: '#/components/schemas/File' }], description: 'd' } }),
      { a: file },
      [['a', ['a.png']]],
    ],
    [
      'in allOf of a property with its type',
      object({ a: { type: 'string', allOf: [{ format: 'binary' }] } }),
      { a: file },
      [['a', ['a.png']]],
    ],
    [
      'in the first entry of a list',
      object({ a: { type: 'array', prefixItems: [binary], items: text } }),
      { a: [file, 't'] },
      [
        ['a', 't'],
        ['a', ['a.png']],
      ],
    ],
    ['or a text', object({ a: { oneOf: [text, binary] } }), { a: file }, [['a', ['a.png']]]],
    [
      'or a text, which is sent',
      object({ a: { oneOf: [text, binary] } }),
      { a: 'https://a.example' },
      [['a', 'https://a.example']],
    ],
    [
      'or a list of texts',
      object({ a: { anyOf: [strings, binary] } }),
      { a: ['b', 'c'] },
      [
        ['a', 'b'],
        ['a', 'c'],
      ],
    ],
    [
      'or a text, in a list',
      object({ a: { type: 'array', items: { anyOf: [text, binary] } } }),
      { a: ['b', file, 'c'] },
      [
        ['a', 'b'],
        ['a', 'c'],
        ['a', ['a.png']],
      ],
    ],
    [
      'or an object',
      object({ a: { anyOf: [object({ data: text, id: text }, { required: ['id'] }), binary] } }),
      { a: { data: 'b', id: 'c' } },
      [['a', '{"data":"b","id":"c"}']],
    ],
    ['or a number', object({ a: { type: ['string', 'integer'], format: 'binary' } }), { a: 5 }, [['a', '5']]],
    [
      'or null',
      object({ a: { type: ['string', 'null'], format: 'binary' }, b: text }),
      { a: null, b: 'c' },
      [['b', 'c']],
    ],
    ['and not null', object({ a: { type: ['string', 'null'], format: 'binary' } }), { a: file }, [['a', ['a.png']]]],
    [
      'or null, as an alternative',
      object({ a: { anyOf: [binary, { type: 'null' }] }, b: text }),
      { a: null, b: 'c' },
      [['b', 'c']],
    ],
    [
      'or null, in a list',
      object({ a: { type: 'array', items: { type: ['string', 'null'], format: 'binary' } } }),
      { a: [null, file] },
      [['a', ['a.png']]],
    ],
  ])('sends a file that is described %s', async (_, schema, body, sent) => {
    expect(await multipart(schema, body, { components: { schemas: { File: binary } } })).toEqual(sent)
  })

  test.each([
    { ...binary, nullable: true },
    { nullable: true, allOf: [binary] },
  ])('sends no file for null of OpenAPI 3.0: %j', async (nullable) => {
    const schema = object({ a: nullable, b: text })
    const more = { openapi: '3.0.3' }
    expect(await multipart(schema, { a: null, b: 'c' }, more)).toEqual([['b', 'c']])
    expect(await multipart(schema, { a: file }, more)).toEqual([['a', ['a.png']]])
  })

  test('is at most 16 times as long as its JSON, and 65,536 characters, however deep its names are', async () => {
    const encoding = { price: { style: 'deepObject' } }
    const body = { price: { ['n'.repeat(1_000)]: Array.from({ length: 200 }, () => 1) } }
    const most = 65_536 + 16 * JSON.stringify(body).length
    expect(await posted(urlEncoded, { type: 'object', properties }, body, encoding)).toBe(
      `The arguments make a form of more than ${most} characters: send less`,
    )
  })

  test.each([urlEncoded, 'multipart/form-data'])(
    'has names of at most 4,096 characters, with those of their parents, as %s',
    (bodyType) => {
      const bodyFields = { price: { isDeep: true } }
      const form = (body: object) => requestBody({ bodyType, bodyFields }, body)
      const text = 'has more than 4096 characters'
      expect(() => form({ ['n'.repeat(4_096)]: 1, price: { ['n'.repeat(4_089)]: 1 } })).not.toThrow()
      expect(() => form({ ['n'.repeat(4_097)]: 1 })).toThrow(text)
      expect(() => form({ price: { ['n'.repeat(4_090)]: 1 } })).toThrow(text)
      expect(() => form({ price: { ['n'.repeat(2_000)]: { ['n'.repeat(3_000)]: [1] } } })).toThrow(text)
    },
  )

  /** Returns how many characters regular expressions, and searches for one, read. */
  const charactersRead = (work: () => unknown): number => {
    const spies = [vi.spyOn(RegExp.prototype, 'exec'), vi.spyOn(String.prototype, 'includes')] as const
    try {
      work()
    } catch {
      // A form that is refused is made in part.
    }
    const [matched, searched] = spies
    const texts = [...matched.mock.calls.map(([text]) => text), ...searched.mock.contexts]
    for (const spy of spies) spy.mockRestore()
    return texts.reduce((sum: number, text) => sum + String(text).length, 0)
  }

  const many = (value: unknown) => Array.from({ length: 5_000 }, () => value)
  const nested = (levels: number, value: unknown): unknown =>
    levels === 0 ? value : { ['k'.repeat(30)]: nested(levels - 1, value) }
  test.each<[what: string, value: unknown]>([
    ['a list of nulls', many(null)],
    ['a list of empty lists', many([])],
    ['a list of empty objects', many({})],
    ['an object of nulls', { ...many(null) }],
    ['a list of empty lists on many levels', nested(100, many([]))],
    ['a long list', many('a')],
    ['an object of texts', { ...many('a') }],
    ['a list of objects', many({ b: 'a' })],
    ['a list of files', many({ data: 'YQ==' })],
  ])('takes work for what was received or is sent, and not for each name of an entry: %s', (_, value) => {
    const name = 'k'.repeat(1_000)
    for (const body of [{ [name]: value }, { price: { [name]: value } }, { price: value }, { list: value }]) {
      const most = 65_536 + 17 * JSON.stringify(body).length
      const bodyFields = { price: { isDeep: true }, list: { separator: ',' } }
      for (const bodyType of [urlEncoded, 'multipart/form-data'])
        for (const hasOtherFiles of [false, true])
          expect(charactersRead(() => requestBody({ bodyType, bodyFields, hasOtherFiles }, body))).toBeLessThan(
            4 * most,
          )
    }
  })

  test('has no members that send nothing, whatever their names are', () => {
    const name = 'k'.repeat(5_000)
    const body = { [name]: null, 'a\0': [], '[price]': [null], price: { [name]: { [name]: [] } } }
    expect(requestBody({ bodyType: urlEncoded, bodyFields: { price: { isDeep: true } } }, body)).toBe('')
  })

  test.each([
    ['price\0', { 'price\0': 1 }],
    ['\0', { '\0': [1] }],
    ['a\nb', { 'a\nb': { c: 1 } }],
    ['price[from\0]', { price: { 'from\0': 1 } }],
    ['price[a][\x7f]', { price: { a: { '\x7f': 1 } } }],
  ])('has no names with control characters: %j', async (name, body) => {
    const bodyFields = { price: { isDeep: true } }
    const message = `${JSON.stringify(name)} cannot be the name of a field: it has a control character`
    for (const bodyType of ['multipart/form-data', urlEncoded]) {
      expect(() => requestBody({ bodyType, bodyFields }, body)).toThrow(message)
    }
    const files = { bodyType: 'multipart/form-data', hasOtherFiles: true }
    expect(() => requestBody(files, { 'a\0': { data: '' } })).toThrow('it has a control character')
  })

  test.each([
    [{ 'price[from]': 1 }, '"price[from]" would be "price" or a part of it: send it in "price"'],
    [{ '[price][from]': 1 }, '"[price][from]" would be "price" or a part of it: send it in "price"'],
    [{ ' price[from]': 1 }, '" price[from]" would be "price" or a part of it: send it in "price"'],
    [{ price: { 'x][from': 1 } }, '"x][from" would be several names in "price": it has a bracket'],
    [{ price: { a: { '[]': 1 } } }, '"[]" would be several names in "price[a]": it has a bracket'],
    [{ price: { '': 1 } }, '"" would be an entry of a list "price": give it a name'],
  ])('has no names that imitate those of a deep object: %j', async (body, message) => {
    const encoding = { price: { style: 'deepObject' } }
    expect(await posted(urlEncoded, { type: 'object', properties }, body, encoding)).toBe(message)
    expect(() =>
      requestBody({ bodyType: 'multipart/form-data', bodyFields: { price: { isDeep: true } } }, body),
    ).toThrow(message)
  })

  test.each([
    'unit.price[from]',
    'unit price[from]',
    ' unit.price[from]',
    'unit.price]from',
    'unit.price',
    'unit price',
    'unit[price',
  ])('has no names that PHP reads as those of a deep object: %j', (name) => {
    for (const bodyType of [urlEncoded, 'multipart/form-data'])
      expect(() => requestBody({ bodyType, bodyFields: { unit_price: { isDeep: true } } }, { [name]: 1 })).toThrow(
        `"${name}" would be "unit_price" or a part of it: send it in "unit_price"`,
      )
  })

  const roles = { type: 'string', enum: ['user'] }
  const declaring: [what: string, schema: object][] = [
    ['properties', object({ role: roles, user_role: roles, 'ids[]': { type: 'array' } })],
    ['a reference', { $ref: '#/components/schemas/Role' }],
    ['an alternative', { type: 'object', anyOf: [{ $ref: '#/components/schemas/Role' }, object({ role_name: text })] }],
    ['a condition', object({}, { if: { required: ['z'] }, else: { $ref: '#/components/schemas/Role' } })],
  ]
  const Role = object({ role: roles, user_role: roles, 'ids[]': { type: 'array' } })
  test.each(declaring)('has no other names that an API reads as those of %s', async (_, schema) => {
    const more = { components: { schemas: { Role } } }
    const refused: [name: string, declared: string][] = [
      [' role', 'role'],
      ['role[]', 'role'],
      ['role[x]', 'role'],
      ['[role]', 'role'],
      ['user.role', 'user_role'],
      ['user role', 'user_role'],
      ['user[role', 'user_role'],
      ['ids', 'ids[]'],
      ['ids[0]', 'ids[]'],
      ['.ids[]', 'ids[]'],
      [' ids[]', 'ids[]'],
      ['role ', 'role'],
      ['role.x', 'role'],
      ['role:string', 'role'],
      ['role[x].y', 'role'],
      ['Role', 'role'],
      ['ROLE[0].x', 'role'],
      ['!role', 'role'],
      ['_role', 'role'],
      ['_Role.x', 'role'],
      ['!user.role', 'user_role'],
      ['User.Role', 'user_role'],
      ['IDS', 'ids[]'],
    ]
    for (const type of [urlEncoded, 'multipart/form-data']) {
      for (const [name, declared] of refused) {
        const answered = await posted(type, schema, { [name]: 'admin' }, {}, more)
        expect(answered).toBe(`"${name}" would be "${declared}" or a part of it: send it in "${declared}"`)
      }
      expect(
        await posted(
          type,
          schema,
          { role: 'user', 'ids[]': ['1'], roles: 'a', 'x[role]': 'b', user: 'c', __role: 'd', 'x.role': 'e' },
          {},
          more,
        ),
      ).toContain('user')
    }
  })

  test.each([
    ['user.role', 'user'],
    ['user[role]', 'user'],
    ['USER.role', 'user'],
    ['a[b]', 'a.b'],
    ['a.b.c', 'a.b'],
    ['A_B', 'a.b'],
    ['a[b', 'a.b'],
  ])('has no names that are parts of a declared one in another notation: %j', (name, declared) => {
    const bodyFields = { user: { isDeep: true }, 'a.b': {} }
    for (const bodyType of [urlEncoded, 'multipart/form-data'])
      expect(() => requestBody({ bodyType, bodyFields }, { [name]: 1 })).toThrow(
        `"${name}" would be "${declared}" or a part of it: send it in "${declared}"`,
      )
  })

  test('has names that only resemble those of a deep object', () => {
    const bodyFields = { unit_price: { isDeep: true } }
    const body = { unit_price: { from: 1 }, 'unit-price[a]': 2, 'unit[price]': 3, 'unit_prices[a]': 4, unitprice: 5 }
    expect(requestBody({ bodyType: urlEncoded, bodyFields }, body)).toBe(
      'unit_price%5Bfrom%5D=1&unit-price%5Ba%5D=2&unit%5Bprice%5D=3&unit_prices%5Ba%5D=4&unitprice=5',
    )
  })

  test('has other names with brackets', async () => {
    const encoding = { price: { style: 'deepObject' } }
    const body = { 'prices[from]': 1, '[a]price[from]': 2, price: { from: 3 } }
    expect(await posted(urlEncoded, { type: 'object', properties }, body, encoding)).toContain(
      'prices%5Bfrom%5D=1&%5Ba%5Dprice%5Bfrom%5D=2&price%5Bfrom%5D=3',
    )
  })

  test('is measured as JSON only when it is long', () => {
    const measured = vi.spyOn(JSON, 'stringify')
    const form = (length: number) =>
      requestBody(
        { bodyType: 'application/x-www-form-urlencoded' },
        { a: Array.from({ length }, () => 'b'.repeat(10)) },
      )
    form(1000)
    expect(measured).not.toHaveBeenCalled()
    expect(form(10_000)).toHaveLength(10_000 * 'a=bbbbbbbbbb&'.length - 1)
    expect(measured).toHaveBeenCalledOnce()
    measured.mockRestore()
  })

  test.each([
    ['texts', Array.from({ length: 9_000 }, () => '')],
    ['content of files', Array.from({ length: 3 }, () => ({ data: 'A'.repeat(8_000_000) }))],
  ])('is bounded with the headers of its parts: %s', (_, list) => {
    expect(() =>
      requestBody({ bodyType: 'multipart/form-data', bodyFields: { a: { isFile: true } } }, { a: list }),
    ).toThrow(/^The arguments make a form of more than \d+ characters: send less$/)
  })

  test.each([urlEncoded, 'multipart/form-data'])('has at most 10,000 fields, as %s', (bodyType) => {
    const body = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, number) => [`a${number}`, 'b'.repeat(20)]))
    expect(() => requestBody({ bodyType }, body(10_000))).not.toThrow()
    expect(() => requestBody({ bodyType }, body(10_001))).toThrow(
      'The arguments make a form of more than 10000 fields: send less',
    )
  })

  test('has at most 10,000 files, and no more are read', () => {
    let read = 0
    const file = () => ({
      get data() {
        read += 1
        return ''
      },
    })
    const body = Object.fromEntries(Array.from({ length: 20_000 }, (_, number) => [`a${number}`, file()]))
    expect(() => requestBody({ bodyType: 'multipart/form-data', hasOtherFiles: true }, body)).toThrow(
      'The arguments make a form of more than 10000 fields: send less',
    )
    expect(read).toBe(10_001)
  })

  test('has no name of a part with a backslash, and no file whose name ends with one', () => {
    const bodyType = 'multipart/form-data'
    for (const name of ['a\\', '\\a[b]', 'a\\[b]']) {
      expect(() => requestBody({ bodyType }, { [name]: 1 })).toThrow('cannot be the name of a part: it has a backslash')
    }
    const file = (filename: string) =>
      requestBody({ bodyType, bodyFields: { a: { isFile: true } } }, { a: { data: '', filename } })
    expect(() => file('a\\')).toThrow('"a\\\\" cannot be the name of a file: it ends with a backslash')
    expect(() => file('C:\\a')).not.toThrow()
  })

  test('has no control characters in the name of a file', async () => {
    const file = { data: '', filename: 'a\0\t\r\n".png' }
    const body = requestBody({ bodyType: 'multipart/form-data', bodyFields: { a: { isFile: true } } }, { a: file })
    expect(await new Response(body).text()).toContain('filename="a%00%09%0D%0A%22.png"')
  })

  test('has parts with the media types of the document', async () => {
    const schema = object({
      json: text,
      meta: object({}),
      metas: { type: 'array' },
      problem: object({}),
      xml: object({}),
      any: object({}),
      list: strings,
      deep: object({}),
      photo: binary,
      scan: binary,
      wild: binary,
      text,
    })
    const encoding = {
      json: { contentType: 'application/json' },
      problem: { contentType: 'application/problem+json; charset=utf-8' },
      xml: { contentType: 'application/xml' },
      any: { contentType: '*/*' },
      list: { contentType: 'text/csv' },
      deep: { style: 'deepObject', contentType: 'application/json' },
      photo: { contentType: 'image/png' },
      scan: { contentType: 'image/png, image/jpeg' },
      wild: { contentType: 'image/*' },
      text: { contentType: 'text/*' },
    }
    const photo = [{ data: 'YQ==' }, { data: 'YQ==', mimeType: 'image/webp' }]
    const body = {
      ...{ json: '{}', meta: { a: 1 }, metas: [{ a: 1 }, null, [2]], problem: {}, xml: {}, any: {}, list: ['a', 'b'] },
      ...{ deep: { a: ['b'] }, photo: photo[0], scan: photo[0], wild: photo[1], text: 't' },
    }
    const sent = JSON.parse(await posted('multipart/form-data', schema, body, encoding))
    const parts: string[] = sent.body.split(/--[\w-]{36}(?:--)?\r\n/).slice(1, -1)
    const file = (name: string) => `${name}"; filename="${name}"`
    expect(parts.map((part) => part.replace('Content-Disposition: form-data; name="', '').split(/(?:\r\n)+/))).toEqual([
      ['json"', 'Content-Type: application/json', '{}', ''],
      ['meta"', 'Content-Type: application/json', '{"a":1}', ''],
      ['metas"', 'Content-Type: application/json', '{"a":1}', ''],
      ['metas"', 'Content-Type: application/json', '[2]', ''],
      ['problem"', 'Content-Type: application/problem+json; charset=utf-8', '{}', ''],
      ['xml"', 'Content-Type: application/json', '{}', ''],
      ['any"', 'Content-Type: application/json', '{}', ''],
      ['list"', 'Content-Type: text/csv', 'a', ''],
      ['list"', 'Content-Type: text/csv', 'b', ''],
      ['deep[a][0]"', 'b', ''],
      ['text"', 't', ''],
      [file('photo'), 'Content-Type: image/png', 'a', ''],
      [file('scan'), 'Content-Type: application/octet-stream', 'a', ''],
      [file('wild'), 'Content-Type: image/webp', 'a', ''],
    ])
  })

  test('has an entry for each of a long list', () => {
    const list = Array.from({ length: 10_000 }, () => '')
    for (const isDeep of [false, true]) {
      const form = String(requestBody({ bodyType: urlEncoded, bodyFields: { a: { isDeep } } }, { a: list }))
      expect(form.split('&')).toHaveLength(10_000)
    }
  })
})

describe('arguments that are too long for a request', () => {
  const parameters = [
    { in: 'path', name: 'id', required: true, schema: {} },
    { in: 'query', name: 'q' },
    header('X-A'),
    header('X-B'),
  ]
  const document = { openapi: '3.1.0', paths: { '/x/{id}': { get: { operationId: 'get', parameters } } } }

  test.each<[args: object, what: string]>([
    [{ id: 'ü'.repeat(11_000) }, 'URL of more than 65536'],
    [{ id: Array(40_000).fill('a') }, 'URL of more than 65536'],
    [{ id: 'a'.repeat(40_000), q: 'a'.repeat(40_000) }, 'URL of more than 65536'],
    [{ id: 'a', 'X-A': 'a'.repeat(16_384) }, 'header section of more than 16384'],
    [{ id: 'a', 'X-A': 'a'.repeat(9_000), 'X-B': 'a'.repeat(9_000) }, 'header section of more than 16384'],
  ])('are refused, and do not count for the circuit breaker (%#)', async (args, what) => {
    const urls: unknown[] = []
    const base = await listen(({ url }, response) => response.end(`${urls.push(url)} sent`))
    const options = { baseUrl: base, retries: 0, circuitBreaker: { failures: 2 } }
    const server = newServer().use(openApiTools(parseOpenApi(document), options))
    const text = `The arguments make a ${what} characters: send less`
    for (let at = 0; at < 4; at += 1) {
      const refused = await result(server, 'tools/call', { name: 'get', arguments: args })
      expect(refused).toEqual({ content: [{ type: 'text', text }], isError: true })
    }
    expect(textOf(await result(server, 'tools/call', { name: 'get', arguments: { id: 'a' } }))).toBe('1 sent')
  })
})

test.each<[place: string, args: object]>([
  ['query', { q: '~'.repeat(500_000) }],
  ['query', { tags: Array.from({ length: 100 }, () => 'é'.repeat(5_000)) }],
  ['query', { tags: ['é'.repeat(50_000), 'é'.repeat(50_000)] }],
  ['URL', { id: '~'.repeat(500_000) }],
  ['URL', { id: Array.from({ length: 100 }, () => 'é'.repeat(5_000)) }],
])('what is too long for a %s is refused before it is encoded (%#)', async (what, args) => {
  const operation: Operation = {
    name: 'find',
    description: 'd',
    method: 'GET',
    path: '/x/{id}',
    parameters: {
      id: { in: 'path', name: 'id' },
      q: { in: 'query', name: 'q' },
      tags: { in: 'query', name: 'tags', separator: ',' },
    },
    hasBody: false,
    input: { type: 'object' },
    annotations: {},
  }
  const server = newServer().use(openApiTools([operation], { baseUrl: 'https://api.example' }))
  const encoded = vi.spyOn(globalThis, 'encodeURIComponent')
  const answered = await result(server, 'tools/call', { name: 'find', arguments: { id: '1', ...args } })
  const characters = encoded.mock.calls.reduce((sum, [text]) => sum + String(text).length, 0)
  encoded.mockRestore()
  expect(textOf(answered)).toBe(`The arguments make a ${what} of more than 65536 characters: send less`)
  expect(characters).toBeLessThanOrEqual(65_536)
})

test('a form that is too long is refused before it is encoded', () => {
  const encoded = vi.spyOn(globalThis, 'encodeURIComponent')
  const list = Array.from({ length: 10 }, () => 'é'.repeat(5_000_000))
  expect(() =>
    requestBody({ bodyType: 'application/x-www-form-urlencoded', bodyFields: { a: { separator: ',' } } }, { a: list }),
  ).toThrow('The arguments make a form of more than 16777216 characters: send less')
  expect(encoded.mock.calls.length).toBeLessThan(5)
  encoded.mockRestore()
})

describe('a required argument that sends nothing is refused', () => {
  const list = { type: ['array', 'null'], items: { type: ['string', 'null'] } }
  const parameterIn = (place: string) =>
    place === 'querystring'
      ? { content: { 'application/x-www-form-urlencoded': { schema: { type: 'object' } } } }
      : { schema: list }

  test.each<[place: string, value: unknown]>([
    ['query', []],
    ['query', null],
    ['query', [null]],
    ['header', []],
    ['header', null],
    ['querystring', {}],
    ['querystring', { a: null, b: [] }],
  ])('in a %s: %j', async (place, value) => {
    const base = await listen((request, response) => response.end(request.url))
    const call = async (required: boolean) => {
      const parameter = { in: place, name: 'ids', required, ...parameterIn(place) }
      const document = {
        openapi: '3.2.0',
        paths: { '/x': { delete: { operationId: 'remove', parameters: [parameter] } } },
      }
      const server = newServer().use(openApiTools(parseOpenApi(document), { baseUrl: base }))
      return result(server, 'tools/call', { name: 'remove', arguments: { ids: value } })
    }
    const text = '"ids" is required, and its value sends nothing: pass another one'
    expect(await call(true)).toEqual({ content: [{ type: 'text', text }], isError: true })
    expect(textOf(await call(false))).toBe('/x')
  })

  const ids = { type: 'object', properties: { ids: list, force: {}, deep: {} }, required: ['ids'] }
  const referring = { allOf: [{ $ref: '#/components/schemas/Ids' }] }
  const inDeep = { type: 'object', properties: { deep: { type: 'object' } }, required: ['deep'] }
  const encoding = { deep: { style: 'deepObject' } }
  const forms = ['application/x-www-form-urlencoded', 'multipart/form-data']
  test.each<[type: string, schema: object, value: object, name: string]>([
    ...['querystring', ...forms].flatMap((type): [string, object, object, string][] => [
      [type, ids, { ids: [], force: true }, 'ids'],
      [type, ids, { ids: null, force: true }, 'ids'],
      [type, referring, { ids: [null], force: true }, 'ids'],
    ]),
    ...forms.map((type): [string, object, object, string] => [
      type,
      inDeep,
      { deep: { a: [], b: {} }, force: true },
      'deep',
    ]),
  ])('as a member of %s (%#)', async (type, schema, value, name) => {
    let requests = 0
    const base = await listen((_, response) => response.end(`${++requests}`))
    const call = async (schema: object) => {
      const content = { 'application/x-www-form-urlencoded': { schema } }
      const place =
        type === 'querystring'
          ? { parameters: [{ in: type, name: 'q', content }] }
          : { requestBody: { content: { [type]: { schema, encoding } } } }
      const document = {
        openapi: '3.2.0',
        paths: { '/x': { delete: { operationId: 'remove', ...place } } },
        components: { schemas: { Ids: ids } },
      }
      const server = newServer().use(openApiTools(parseOpenApi(document), { baseUrl: base }))
      return result(server, 'tools/call', {
        name: 'remove',
        arguments: { [type === 'querystring' ? 'q' : 'body']: value },
      })
    }
    const text = `"${name}" is required, and its value sends nothing: pass another one`
    expect(await call(schema)).toEqual({ content: [{ type: 'text', text }], isError: true })
    expect(textOf(await call({ ...ids, required: [] }))).toBe('1')
  })
})

describe('a member that changes the method of the request', () => {
  const methodNames = [
    '_method',
    ' _Method',
    '_method[]',
    'X-HTTP-Method-Override',
    'x_http_method_override',
    '_http_method',
    'x-tunneled-method',
  ]
  const types = ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data', 'querystring']
  const sending = async (type: string, schema: object, value: object) => {
    let requests = 0
    const base = await listen((_, response) => response.end(`${++requests}`))
    const content = { [type === 'querystring' ? 'application/x-www-form-urlencoded' : type]: { schema } }
    const place =
      type === 'querystring' ? { parameters: [{ in: type, name: 'q', content }] } : { requestBody: { content } }
    const document = { openapi: '3.2.0', paths: { '/users': { post: { operationId: 'update', ...place } } } }
    const server = newServer().use(openApiTools(parseOpenApi(document), { baseUrl: base }))
    return textOf(
      await result(server, 'tools/call', {
        name: 'update',
        arguments: { [type === 'querystring' ? 'q' : 'body']: value },
      }),
    )
  }

  test.each(types.flatMap((type) => methodNames.map((name) => [type, name])))(
    'is not sent in %s: %j',
    async (type, name) => {
      expect(await sending(type, { type: 'object' }, { role: 'user', [name]: 'DELETE' })).toBe(
        `${JSON.stringify(name)} would change the method of the request: leave it out`,
      )
    },
  )

  test.each(types)('is sent in %s, if the schema has it; so is one that only sounds like it', async (type) => {
    expect(await sending(type, { type: 'object', properties: { _method: {} } }, { _method: 'PUT' })).toBe('1')
    expect(await sending(type, { type: 'object' }, { method: 'card', shipping_method: 'post' })).toBe('1')
  })
})

test('the name of a part is no encoded word, which some servers decode', async () => {
  const base = await listen((_, response) => response.end('sent'))
  const schema = { type: 'object', properties: { role: { enum: ['user'] } } }
  const content = { 'multipart/form-data': { schema } }
  const document = {
    openapi: '3.1.0',
    paths: { '/users': { post: { operationId: 'update', requestBody: { content } } } },
  }
  const server = newServer().use(openApiTools(parseOpenApi(document), { baseUrl: base }))
  const call = { name: 'update', arguments: { body: { role: 'user', '=?utf-8?B?cm9sZQ==?=': 'admin' } } }
  expect(textOf(await result(server, 'tools/call', call))).toBe(
    '"=?utf-8?B?cm9sZQ==?=" cannot be the name of a part: it has "=?"',
  )
})

describe('a parameter that is the whole query string', () => {
  const operation: Operation = {
    name: 'find',
    description: 'd',
    method: 'GET',
    path: '/x',
    parameters: { page: { in: 'query', name: 'p' }, filter: { in: 'querystring', name: 'ignored' } },
    hasBody: false,
    input: { type: 'object', properties: { page: {}, filter: {} } },
    annotations: {},
  }
  const found = async (filter: unknown) => {
    const base = await listen((request, response) => response.end(request.url))
    const server = newServer().use(openApiTools([operation], { baseUrl: base }))
    return result(server, 'tools/call', { name: 'find', arguments: { page: 2, filter } })
  }

  test.each([
    [{ q: 'a&b=c', tags: ['x', 'y'], 'größer als': 5 }, '/x?p=2&q=a%26b%3Dc&tags=x&tags=y&gr%C3%B6%C3%9Fer+als=5'],
    [{ near: { lat: 1 }, none: null }, '/x?p=2&near=%7B%22lat%22%3A1%7D'],
    [{}, '/x?p=2'],
    [undefined, '/x?p=2'],
  ])('%j is sent as %s', async (filter, url) => {
    expect(textOf(await found(filter))).toBe(url)
  })

  test.each([{ p: 3 }, { mode: 'all' }, { 'mode[]': 'all' }])(
    'does not repeat a name of the query: %j',
    async (filter) => {
      let requests = 0
      const base = await listen((_, response) => response.end(`${++requests}`))
      const server = newServer().use(openApiTools([{ ...operation, path: '/x?mode=safe' }], { baseUrl: base }))
      const answered = await result(server, 'tools/call', { name: 'find', arguments: { page: 2, filter } })
      expect(textOf(answered)).toMatch(
        /^The query already has "\w+": leave it out of "filter"$|^"mode\[\]" would be "mode"/,
      )
      expect(requests).toBe(0)
    },
  )

  test('has no names that an API reads as one that its schema has', async () => {
    const schema = { type: 'object', properties: { role: { enum: ['user'] } } }
    const input = { type: 'object' as const, properties: { page: {}, filter: schema } }
    const base = await listen((request, response) => response.end(request.url))
    const server = newServer().use(openApiTools([{ ...operation, input }], { baseUrl: base }))
    const call = async (filter: object) =>
      textOf(await result(server, 'tools/call', { name: 'find', arguments: { filter } }))
    expect(await call({ role: 'user', roles: 'a' })).toBe('/x?role=user&roles=a')
    for (const name of [' role', 'role[]', '[role]', 'role.x', 'ROLE', '!role', '_role'])
      expect(await call({ [name]: 'admin' })).toBe(`"${name}" would be "role" or a part of it: send it in "role"`)
  })

  test('is an error that the model reads, if a list is too long for a query', async () => {
    const text = 'The arguments make a query of more than 65536 characters: send less'
    const list = Array.from({ length: 300_000 }, () => '')
    expect(await found({ q: list })).toEqual({ content: [{ type: 'text', text }], isError: true })
    expect(textOf(await found({ q: 'ü'.repeat(11_000) }))).toBe(text)
    expect(textOf(await found({ q: 'ü'.repeat(2_000) }))).toHaveLength('/x?p=2&q='.length + 12_000)
  })

  test('is an error that the model reads, if it is no object', async () => {
    const answered = await found('q=1')
    expect(answered).toMatchObject({ isError: true })
    expect(textOf(answered)).toBe('"filter" must be an object: its members are the parameters of the query')
  })
})

describe('a parameter with an unsupported serialization', () => {
  test.each([
    ['an object', { schema: { type: 'object' } }],
    ['an object of the style deepObject', { style: 'deepObject', schema: { type: 'object' } }],
    ['a list of the style deepObject', { style: 'deepObject', schema: { type: 'array' } }],
    ['one with content', { content: { 'application/json': { schema: { type: 'array' } } } }],
  ])('is left out: %s', (_, parameter) => {
    for (const required of [false, true]) {
      const left: string[] = []
      const given = { in: 'query', name: 'filter', required, ...parameter }
      const document = { openapi: '3.1.0', paths: { '/x': { get: { operationId: 'get', parameters: [given] } } } }
      const found = parseOpenApi(document, { onSkipped: (sentence) => left.push(sentence) })
      expect(found.map(({ parameters }) => parameters)).toEqual(required ? [] : [{}])
      expect(left).toEqual([
        required
          ? 'GET /x, whose required parameter "filter" is serialized in a way that is not supported'
          : 'GET /x without its parameter "filter": it is serialized in a way that is not supported',
      ])
    }
  })
})

test('an absent argument with the name of an inherited member is not sent', async () => {
  const optional = (place: string, name: string) => ({ in: place, name, schema: { type: 'string' } })
  const parameters = [optional('query', 'constructor'), optional('query', 'toString'), optional('header', 'valueOf')]
  const base = await listen(({ url, headers }, response) => response.end(JSON.stringify({ url, ...headers })))
  const server = serverOf(parameters, { baseUrl: base })
  const left = sentBy(await result(server, 'tools/call', { name: 'mail', arguments: {} }))
  expect(left).toMatchObject({ url: '/mail' })
  expect(left).not.toHaveProperty('valueof')
  const sent = await result(server, 'tools/call', { name: 'mail', arguments: { constructor: 'a', valueOf: 'b' } })
  expect(sentBy(sent)).toMatchObject({ url: '/mail?constructor=a', valueof: 'b' })
})

test.each([
  ['header', 'a\nb', 'X-A', '"a\\nb" cannot be sent as the header X-A'],
  ['header', ' a', 'X-A', '" a" cannot be sent as the header X-A'],
  ['header', 'a\t', 'X-A', '"a\\t" cannot be sent as the header X-A'],
  ['header', '\ud83d\ude00', 'X-A', /^".*" cannot be sent as the header X-A$/],
  ['path', '\ud800', 'id', '"\\ud800" cannot be a segment of the path /x/{id}'],
  ['query', '\ud800', 'q', '"\\ud800" cannot be sent in a query or a form'],
])('an argument that no %s can carry is an error that the model reads: %j', async (place, value, name, text) => {
  const reported: unknown[] = []
  const path = place === 'path' ? '/x/{id}' : '/x'
  const parameters = [{ in: place, name, required: place === 'path', schema: { type: 'string' } }]
  const document = { openapi: '3.1.0', paths: { [path]: { get: { operationId: 'get', parameters } } } }
  const requests: unknown[] = []
  const base = await listen((request, response) => response.end(String(requests.push(request))))
  const server = newServer().use(openApiTools(parseOpenApi(document), { baseUrl: base }))
  const report = (problem: unknown) => void reported.push(problem)
  const answered = await result(server, 'tools/call', { name: 'get', arguments: { [name]: value } }, { report })
  expect(answered).toMatchObject({ isError: true })
  if (typeof text === 'string') expect(textOf(answered)).toBe(text)
  else expect(textOf(answered)).toMatch(text)
  expect(reported).toEqual([])
  expect(requests).toEqual([])
})
