import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import {
  audio,
  callToolResult,
  embeddedResource,
  getPromptResult,
  image,
  readResourceResult,
  resourceLink,
  text,
  toolError,
} from '../../worker/declarations/content.ts'
import { jsonSchema } from '../../worker/declarations/json-schema/index.ts'
import { readSchema, type Schema } from '../../worker/declarations/schema.ts'
import { McpError } from '../../worker/protocol/errors.ts'

const bytes = new Uint8Array([137, 80, 78, 71, 0, 255])
const base64 = 'iVBORwD/'

describe('content blocks', () => {
  test('have their type and members', () => {
    expect(text('a')).toEqual({ type: 'text', text: 'a' })
    expect(image(base64, 'image/png')).toEqual({ type: 'image', data: base64, mimeType: 'image/png' })
    expect(audio(base64, 'audio/wav')).toEqual({ type: 'audio', data: base64, mimeType: 'audio/wav' })
    expect(resourceLink('a:b', { name: 'n', size: 5 })).toEqual({
      type: 'resource_link',
      uri: 'a:b',
      name: 'n',
      size: 5,
    })
    expect(embeddedResource({ uri: 'a:b', text: 't' })).toEqual({
      type: 'resource',
      resource: { uri: 'a:b', text: 't' },
    })
    expect(toolError('no')).toEqual({ content: [text('no')], isError: true })
  })

  test('accept bytes', () => {
    expect(image(bytes, 'image/png').data).toBe(base64)
    expect(audio(bytes, 'audio/wav').data).toBe(base64)
    expect(image(new Uint8Array(), 'image/png').data).toBe('')
    expect(image(bytes.subarray(1, 3), 'image/png').data).toBe('UE4=')
  })

  test('accept many bytes', () => {
    const many = Uint8Array.from({ length: 100_001 }, (_, index) => (index * 31) % 256)
    expect(image(many, 'image/png').data).toBe(Buffer.from(many).toString('base64'))
  })
})

const validator = (schema: Schema) => readSchema(schema, 'output', 'outputSchema of tool "x"', jsonSchema)
const sum = validator(z.object({ sum: z.number() }))

const kinds = [
  text('t'),
  image(base64, 'image/png'),
  audio(base64, 'audio/wav'),
  resourceLink('a:b', { name: 'n' }),
  embeddedResource({ uri: 'a:b', text: 't' }),
]

describe('the result of a tool without an output schema', () => {
  const full = { content: [text('t')], structuredContent: { a: 1 }, isError: true, _meta: { 'com.example/a': 1 } }
  test.each<[string, unknown, unknown]>([
    ['nothing', undefined, { content: [] }],
    ['null', null, { content: [] }],
    ['a text', 'hello', { content: [text('hello')] }],
    ['an empty text', '', { content: [text('')] }],
    ['a block', text('t'), { content: [text('t')] }],
    ['blocks', [text('t'), image(base64, 'image/png')], { content: [text('t'), image(base64, 'image/png')] }],
    ['one block of each kind', kinds, { content: kinds }],
    ['no blocks', [], { content: [] }],
    ['a full result', full, full],
    ['a failure', toolError('no'), toolError('no')],
    ['a number', 5, { content: [text('5')] }],
    ['false', false, { content: [text('false')] }],
    ['an object', { a: 1 }, { content: [text('{"a":1}')] }],
    ['a list of texts', ['a', 'b'], { content: [text('["a","b"]')] }],
    ['an object that only looks like a result', { content: 'x' }, { content: [text('{"content":"x"}')] }],
    ['an object of another type', { type: 'chart' }, { content: [text('{"type":"chart"}')] }],
  ])('%s', async (_, value, result) => {
    expect(await callToolResult(value, undefined, 'x')).toEqual(result)
  })

  test.each([
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
  ])('%s is an error or valid text', async (_, value) => {
    const result = await callToolResult(value, undefined, 'x').catch((thrown: unknown) => thrown)
    if (result instanceof Error) return
    for (const block of (result as { content: { text: unknown }[] }).content)
      expect(block.text).toEqual(expect.any(String))
  })

  test('a value without a JSON form is an error', async () => {
    await expect(callToolResult(5n, undefined, 'x')).rejects.toThrow()
    const circle: { self?: unknown } = {}
    circle.self = circle
    await expect(callToolResult(circle, undefined, 'x')).rejects.toThrow()
  })
})

describe('the result of a tool with an output schema', () => {
  test('is structured content, repeated as text', async () => {
    expect(await callToolResult({ sum: 3 }, sum, 'x')).toEqual({
      content: [text('{"sum":3}')],
      structuredContent: { sum: 3 },
    })
  })

  test('is the output of the schema', async () => {
    const schema = validator(z.object({ sum: z.number(), unit: z.string().default('m') }))
    expect((await callToolResult({ sum: 3, secret: 'x' }, schema, 'x')).structuredContent).toEqual({
      sum: 3,
      unit: 'm',
    })
  })

  test.each<[string, Schema, unknown]>([
    ['a list', { type: 'array', items: { type: 'string' } }, ['a']],
    ['a text', { type: 'string' }, 'a'],
    ['a number', { type: 'number' }, 0],
    ['false', { type: 'boolean' }, false],
    ['null', { type: 'null' }, null],
  ])('can be %s', async (_, schema, value) => {
    expect(await callToolResult(value, validator(schema), 'x')).toEqual({
      content: [text(JSON.stringify(value))],
      structuredContent: value,
    })
  })

  test('can be a full result with valid structured content', async () => {
    expect(await callToolResult({ content: [text('three')], structuredContent: { sum: 3 } }, sum, 'x')).toEqual({
      content: [text('three')],
      structuredContent: { sum: 3 },
    })
  })

  test('is the output of the schema in a full result as well', async () => {
    const result = { content: [], structuredContent: { sum: 3, secret: 'x' } }
    expect(await callToolResult(result, sum, 'x')).toEqual({
      content: [text('{"sum":3}')],
      structuredContent: { sum: 3 },
    })
  })

  test('can be an error result without structured content', async () => {
    expect(await callToolResult(toolError('no'), sum, 'x')).toEqual(toolError('no'))
  })

  test.each<[string, unknown]>([
    ['another shape', { sum: 'three' }],
    ['nothing', undefined],
    ['a text', 'three'],
    ['blocks', [text('three')]],
    ['a full result without structured content', { content: [text('three')] }],
    ['a full result whose structured content does not fit', { content: [], structuredContent: { sum: 'three' } }],
  ])('cannot be %s', async (_, value) => {
    const thrown = await callToolResult(value, sum, 'x').catch((thrown: unknown) => thrown)
    expect(thrown).toBeInstanceOf(Error)
    expect(thrown).not.toBeInstanceOf(McpError)
    expect(thrown).toMatchObject({
      message: expect.stringMatching(/^Tool "x" returned a value that does not match its output schema: .+/),
    })
  })
})

describe('the result of a prompt', () => {
  const said = (content: object, role = 'user') => ({ role, content })
  test.each<[string, unknown, unknown]>([
    ['a text', 'hello', { description: 'd', messages: [said(text('hello'))] }],
    ['a block', image(base64, 'image/png'), { description: 'd', messages: [said(image(base64, 'image/png'))] }],
    ['a message', said(text('hi'), 'assistant'), { description: 'd', messages: [said(text('hi'), 'assistant')] }],
    [
      'several of them',
      ['a', text('b'), said(text('c'), 'assistant')],
      { description: 'd', messages: [said(text('a')), said(text('b')), said(text('c'), 'assistant')] },
    ],
    ['none', [], { description: 'd', messages: [] }],
    ['a full result', { messages: [said(text('a'))] }, { description: 'd', messages: [said(text('a'))] }],
    [
      'a full result with its own description',
      { description: 'mine', messages: [] },
      { description: 'mine', messages: [] },
    ],
  ])('%s', (_, value, result) => {
    expect(getPromptResult(value, 'd', 'p')).toEqual(result)
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a number', 5],
    ['an object', { a: 1 }],
    ['a message whose content is a text', said('text' as never)],
    ['a message whose content is a list', said([text('a')])],
    ['a message without a role', { content: text('a') }],
    ['a message with another role', said(text('a'), 'system')],
    ['a list with a number in it', ['a', 5]],
  ])('cannot be %s', (_, value) => {
    expect(() => getPromptResult(value, 'd', 'p')).toThrow(
      expect.objectContaining({
        kind: 'internal_error',
        message: expect.stringMatching(
          /^Prompt "p" returned .+: return text, content blocks, messages \{ role, content \} .+ or promptResult\(/,
        ),
      }),
    )
  })
})

describe('the result of a resource', () => {
  const uri = 'note://1'
  test.each<[string, unknown, unknown[]]>([
    ['a text', 'one', [{ uri, mimeType: 'a/b', text: 'one' }]],
    ['an empty text', '', [{ uri, mimeType: 'a/b', text: '' }]],
    ['bytes', bytes, [{ uri, mimeType: 'a/b', blob: base64 }]],
    ['a buffer', bytes.slice().buffer, [{ uri, mimeType: 'a/b', blob: base64 }]],
    ['no bytes', new Uint8Array(), [{ uri, mimeType: 'a/b', blob: '' }]],
    ['contents', { text: 'one' }, [{ uri, mimeType: 'a/b', text: 'one' }]],
    ['contents in base64', { blob: base64 }, [{ uri, mimeType: 'a/b', blob: base64 }]],
    [
      'contents with their own description',
      { uri: 'note://1/x', mimeType: 'c/d', text: 'one', _meta: { a: 1 } },
      [{ uri: 'note://1/x', mimeType: 'c/d', text: 'one', _meta: { a: 1 } }],
    ],
    [
      'several of them',
      ['one', bytes, { uri: 'note://2', text: 'two' }],
      [
        { uri, mimeType: 'a/b', text: 'one' },
        { uri, mimeType: 'a/b', blob: base64 },
        { uri: 'note://2', mimeType: 'a/b', text: 'two' },
      ],
    ],
    ['a full result', { contents: [{ uri: 'a:b', text: 't' }] }, [{ uri: 'a:b', text: 't' }]],
  ])('%s', (_, value, contents) => {
    expect(readResourceResult(value, uri, 'a/b')).toEqual({ contents })
  })

  test('has no mimeType when the resource declares none', () => {
    expect(readResourceResult('one', uri, undefined).contents[0]).not.toHaveProperty('mimeType')
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['an empty list', []],
    ['a full result without contents', { contents: [] }],
  ])('that is %s means that the resource does not exist', (_, value) => {
    expect(() => readResourceResult(value, uri, 'a/b')).toThrow(
      expect.objectContaining({ kind: 'resource_not_found', message: 'Resource not found: note://1', data: { uri } }),
    )
  })

  test.each<[string, unknown]>([
    ['a number', 5],
    ['an object', { a: 1 }],
    ['contents without text', { uri }],
    ['contents with a number for text', { text: 5 }],
    ['a list with a number in it', ['one', 5]],
    ['an object with other members than a result', { contents: [{ uri, text: 'one' }], more: 1 }],
  ])('cannot be %s', (_, value) => {
    expect(() => readResourceResult(value, uri, 'a/b')).toThrow(
      expect.objectContaining({
        kind: 'internal_error',
        message: expect.stringMatching(
          /^Resource "note:\/\/1" returned .+: return text, bytes, .+ or resourceResult\(/,
        ),
      }),
    )
  })

  test.each<[member: string, found: string, value: object]>([
    ['contents[0]', 'a string', { contents: ['one'] }],
    ['contents[0].uri', 'undefined', { contents: [{ uri: undefined, text: 'one' }] }],
    [
      'contents[1].uri',
      'a number',
      {
        contents: [
          { uri, text: 'one' },
          { uri: 1, text: 'two' },
        ],
      },
    ],
    ['contents[0].text', 'undefined', { contents: [{ uri }] }],
    ['contents[0].text', 'a number', { contents: [{ uri, text: 1 }] }],
    ['contents[0].blob', 'bytes', { contents: [{ uri, blob: new Uint8Array(1) }] }],
    ['contents[0].title', 'a string', { contents: [{ uri, text: 'one', title: 'One' }] }],
  ])('cannot be a full result with an invalid member: %s is %s', (member, found, value) => {
    expect(() => readResourceResult(value, uri, 'a/b')).toThrow(
      expect.objectContaining({
        kind: 'internal_error',
        message: `Resource "note://1": ${member} is ${found}: return { uri, text } or { uri, blob }`,
      }),
    )
  })
})
