import { describe, expect, test, vi } from 'vitest'
import { McpError } from '../../worker/protocol/errors.ts'
import {
  defaultBounds,
  errorText,
  isNotification,
  isRequest,
  isResponse,
  notificationText,
  parse,
  requestText,
  responseIdsIn,
  resultText,
} from '../../worker/protocol/jsonrpc.ts'

const head = '"jsonrpc":"2.0"'

describe('a body with a valid message', () => {
  test.each<[string, string, 'request' | 'notification' | 'response']>([
    ['a request', `{${head},"id":1,"method":"tools/list"}`, 'request'],
    ['a request with params', `{${head},"id":1,"method":"tools/list","params":{"cursor":"x"}}`, 'request'],
    ['an id of text', `{${head},"id":"a","method":"ping"}`, 'request'],
    ['an empty id', `{${head},"id":"","method":"ping"}`, 'request'],
    ['the id zero', `{${head},"id":0,"method":"ping"}`, 'request'],
    ['a negative id', `{${head},"id":-1,"method":"ping"}`, 'request'],
    ['an integer written as a fraction', `{${head},"id":1.0,"method":"ping"}`, 'request'],
    ['the largest id', `{${head},"id":9007199254740991,"method":"ping"}`, 'request'],
    ['an empty method', `{${head},"id":1,"method":""}`, 'request'],
    ['unknown members', `{${head},"id":1,"method":"ping","extra":true}`, 'request'],
    ['a member named __proto__', `{${head},"id":1,"method":"ping","params":{"__proto__":{"a":1}}}`, 'request'],
    ['space around it', ` \n{${head},"id":1,"method":"ping"}\r\n`, 'request'],
    ['a notification', `{${head},"method":"notifications/initialized"}`, 'notification'],
    ['a notification with params', `{${head},"method":"notifications/cancelled","params":{}}`, 'notification'],
    ['a result', `{${head},"id":1,"result":{}}`, 'response'],
    ['an error', `{${head},"id":1,"error":{"code":-1,"message":"no"}}`, 'response'],
    ['an error with data', `{${head},"id":1,"error":{"code":-1,"message":"","data":[1]}}`, 'response'],
    ['an error without an id', `{${head},"error":{"code":-32700,"message":"?"}}`, 'response'],
    ['an error with the id null', `{${head},"id":null,"error":{"code":-32700,"message":"?"}}`, 'response'],
  ])('%s', (_, body, kind) => {
    const parsed = parse(body)
    if (!('message' in parsed)) throw new Error(JSON.stringify(parsed))
    const { message } = parsed
    const kinds = { request: isRequest(message), notification: isNotification(message), response: isResponse(message) }
    expect(Object.entries(kinds).filter(([, is]) => is)).toEqual([[kind, true]])
    expect(message).toEqual(JSON.parse(body))
  })
})

describe('a body without a valid message', () => {
  test.each<[string, string, string, (string | number)?]>([
    ['nothing', '', 'parse_error'],
    ['half an object', '{', 'parse_error'],
    ['single quotes', `{'jsonrpc':'2.0'}`, 'parse_error'],
    ['two objects', '{}{}', 'parse_error'],
    ['a byte order mark', `\uFEFF{${head},"id":1,"method":"ping"}`, 'parse_error'],
    ['null', 'null', 'invalid_request'],
    ['a number', '7', 'invalid_request'],
    ['a text', '"ping"', 'invalid_request'],
    ['true', 'true', 'invalid_request'],
    ['an empty object', '{}', 'invalid_request'],
    ['no jsonrpc', '{"id":1,"method":"ping"}', 'invalid_request', 1],
    ['jsonrpc 1.0', '{"jsonrpc":"1.0","id":1,"method":"ping"}', 'invalid_request', 1],
    ['jsonrpc as a number', '{"jsonrpc":2.0,"id":"a","method":"ping"}', 'invalid_request', 'a'],
    ['jsonrpc only', `{${head}}`, 'invalid_request'],
    ['an id only', `{${head},"id":3}`, 'invalid_request', 3],
    ['the id null', `{${head},"id":null,"method":"ping"}`, 'invalid_request'],
    ['an id that is a fraction', `{${head},"id":1.5,"method":"ping"}`, 'invalid_request'],
    ['an id that is too large to be exact', `{${head},"id":9007199254740993,"method":"ping"}`, 'invalid_request'],
    ['an id without end', `{${head},"id":1e400,"method":"ping"}`, 'invalid_request'],
    ['an id that is true', `{${head},"id":true,"method":"ping"}`, 'invalid_request'],
    ['an id that is an object', `{${head},"id":{},"method":"ping"}`, 'invalid_request'],
    ['a method that is a number', `{${head},"id":1,"method":1}`, 'invalid_request', 1],
    ['a method that is null', `{${head},"id":1,"method":null}`, 'invalid_request', 1],
    ['params that are a list', `{${head},"id":1,"method":"x","params":[]}`, 'invalid_request', 1],
    ['params that are null', `{${head},"id":1,"method":"x","params":null}`, 'invalid_request', 1],
    ['params that are a text', `{${head},"id":1,"method":"x","params":"y"}`, 'invalid_request', 1],
    ['a method and a result', `{${head},"id":1,"method":"x","result":{}}`, 'invalid_request', 1],
    ['a method and an error', `{${head},"id":1,"method":"x","error":{"code":1,"message":""}}`, 'invalid_request', 1],
    ['a result and an error', `{${head},"id":1,"result":{},"error":{"code":1,"message":""}}`, 'invalid_request'],
    ['a result without an id', `{${head},"result":{}}`, 'invalid_request'],
    ['a result with the id null', `{${head},"id":null,"result":{}}`, 'invalid_request'],
    ['a result that is null', `{${head},"id":1,"result":null}`, 'invalid_request'],
    ['a result that is a list', `{${head},"id":1,"result":[]}`, 'invalid_request'],
    ['an error that is a text', `{${head},"id":1,"error":"no"}`, 'invalid_request'],
    ['an error without a message', `{${head},"id":1,"error":{"code":1}}`, 'invalid_request'],
    ['an error whose code is a text', `{${head},"id":1,"error":{"code":"1","message":""}}`, 'invalid_request'],
    ['an error whose code is a fraction', `{${head},"id":1,"error":{"code":1.5,"message":""}}`, 'invalid_request'],
    ['an error whose id is an object', `{${head},"id":{},"error":{"code":1,"message":""}}`, 'invalid_request'],
    ['an error whose id is a fraction', `{${head},"id":1.5,"error":{"code":1,"message":""}}`, 'invalid_request'],
    ['an empty batch', '[]', 'invalid_request'],
  ])('%s', (_, body, kind, id) => {
    const parsed = parse(body)
    if (!('malformed' in parsed)) throw new Error(JSON.stringify(parsed))
    expect(parsed.malformed).toBeInstanceOf(McpError)
    expect([parsed.malformed.kind, parsed.id]).toEqual([kind, id])
    expect(parsed.malformed.message).not.toBe('')
  })
})

describe('an error response repeats the id', () => {
  test('of a request, and not of a response', () => {
    expect(parse(`{${head},"id":1}`)).toMatchObject({ id: 1 })
    expect(parse(`{${head},"id":1,"method":"x","result":{}}`)).toMatchObject({ id: 1 })
    expect(parse(`{${head},"id":1,"result":5}`)).not.toHaveProperty('id', 1)
  })
})

describe('the requests that wait for a refused body', () => {
  const response = (id: string, rest = '"result":null') => `{${head},"id":"${id}",${rest}}`
  const many = Array.from({ length: defaultBounds.maxBatchSize + 1 }, (_, index) => response(`ask-${index}`))
  test.each<[string, string, string[]]>([
    ['a response', response('ask-1'), ['ask-1']],
    ['a response with a method', response('ask-1', '"method":"x","result":{}'), ['ask-1']],
    ['a request', response('ask-1', '"method":1'), []],
    [
      'a batch',
      `[${response('ask-1')},${response('ask-2', '"result":{}')},{${head},"id":"1","method":"x"}]`,
      ['ask-1', 'ask-2'],
    ],
    // Each id is a message to the session: a body of 4 MiB can have 200,000.
    ['a batch that is too large', `[${many}]`, []],
    [
      'a response with too many values',
      response('ask-1', `"result":{"a":[1${',1'.repeat(defaultBounds.maxJsonValues)}]}`),
      ['ask-1'],
    ],
  ])('of %s', (_, body, ids) => {
    expect(responseIdsIn(parse(body))).toEqual(ids)
  })
})

describe('a batch', () => {
  test('is parsed message by message, with errors in the place of invalid ones', () => {
    const parsed = parse(`[{${head},"id":1,"method":"ping"},7,{${head},"method":"x"},[],{${head},"id":2}]`)
    if (!('batch' in parsed)) throw new Error('no batch')
    expect(parsed.batch.map((entry) => ('message' in entry ? 'message' : entry.id))).toEqual([
      'message',
      undefined,
      'message',
      undefined,
      2,
    ])
  })
})

describe('a large batch', () => {
  const batch = (length: number) => `[${Array(length).fill(`{${head},"id":1,"method":"ping"}`)}]`

  test('is accepted up to the limit', () => {
    expect(parse(batch(defaultBounds.maxBatchSize))).toMatchObject({ batch: { length: defaultBounds.maxBatchSize } })
  })

  test('is refused above the limit', () => {
    expect(parse(batch(defaultBounds.maxBatchSize + 1))).toMatchObject({
      malformed: { kind: 'invalid_request', message: `A batch has at most ${defaultBounds.maxBatchSize} messages` },
    })
  })
})

describe('a deeply nested body', () => {
  const nested = (levels: number) => `${'[1,'.repeat(levels)}1${']'.repeat(levels)}`
  /** A request that is so many levels deep in all: itself, its params, and lists. */
  const deep = (levels: number) => `{${head},"id":5,"method":"x","params":{"a":${nested(levels - 2)}}}`

  test('is accepted up to the limit', () => {
    expect(parse(deep(defaultBounds.maxJsonDepth))).toHaveProperty('message')
  })

  test('is refused above the depth limit', () => {
    expect(parse(deep(defaultBounds.maxJsonDepth + 1))).toMatchObject({
      malformed: { kind: 'invalid_request', message: 'The body has more than 128 levels' },
    })
  })

  test.each([nested(200_000), '['.repeat(200_000)])('is refused at any depth, before it is parsed', (text) => {
    using parsing = vi.spyOn(JSON, 'parse')
    expect(parse(text)).toMatchObject({ malformed: { kind: 'invalid_request' } })
    expect(parsing).not.toHaveBeenCalled()
  })

  test('is measured by objects as well as arrays', () => {
    const levels = defaultBounds.maxJsonDepth + 1
    expect(parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)).toHaveProperty('malformed')
  })
})

describe('a body with many values', () => {
  /** A request with so many values in all: itself, its members, and those of a list. */
  const many = (values: number) => `{${head},"id":6,"method":"x","params":{"a":[1${',1'.repeat(values - 7)}]}}`

  test('is accepted up to the limit', () => {
    expect(parse(many(defaultBounds.maxJsonValues))).toHaveProperty('message')
  })

  test('is refused above the limit', () => {
    expect(parse(many(defaultBounds.maxJsonValues + 1))).toHaveProperty(
      'malformed.message',
      'The body has more than 250000 values',
    )
  })

  test('is refused before its values are made', () => {
    using parsing = vi.spyOn(JSON, 'parse')
    parse(`[{}${',{}'.repeat(1_000_000)}]`)
    expect(parsing).not.toHaveBeenCalled()
  })

  test('is refused above a lower limit, also with empty lists and as a batch', () => {
    const bounds = { ...defaultBounds, maxJsonValues: 20 }
    const short = (list: string) => parse(`[{${head},"id":6,"method":"x","params":{"a":[${list}]}}]`, bounds)
    expect(short(`[]${',[]'.repeat(12)}`)).toHaveProperty('batch')
    expect(short(`[]${',[]'.repeat(13)}`)).toHaveProperty('malformed.message', 'The body has more than 20 values')
  })
})

describe('serialization', () => {
  test('of a result keeps the type of the id', () => {
    expect(resultText(1, { a: 1 })).toBe('{"jsonrpc":"2.0","id":1,"result":{"a":1}}')
    expect(resultText('1', {})).toBe('{"jsonrpc":"2.0","id":"1","result":{}}')
  })

  test('of an error has the code, message and data', () => {
    const error = new McpError('resource_not_found', 'Gone', { uri: 'a:b' })
    expect(JSON.parse(errorText('x', error, { code: -32002, status: 200 }))).toEqual({
      jsonrpc: '2.0',
      id: 'x',
      error: { code: -32002, message: 'Gone', data: { uri: 'a:b' } },
    })
  })

  test('of an error without a readable request omits the id, and empty data', () => {
    expect(errorText(undefined, new McpError('parse_error', 'What?'), { code: -32700, status: 400 })).toBe(
      '{"jsonrpc":"2.0","error":{"code":-32700,"message":"What?"}}',
    )
  })

  test('of notifications and requests omits absent params', () => {
    expect(notificationText({ method: 'notifications/tools/list_changed' })).toBe(
      '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
    )
    expect(requestText('s1', 'roots/list', undefined)).toBe('{"jsonrpc":"2.0","id":"s1","method":"roots/list"}')
  })

  test('has no line breaks', () => {
    expect(resultText(1, { text: 'a\nb\r\nc' })).not.toMatch(/[\r\n]/)
  })
})
