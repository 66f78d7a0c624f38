import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { audio, embeddedResource, image, resourceLink, text } from '../../worker/declarations/content.ts'
import { jsonSchema } from '../../worker/declarations/json-schema/index.ts'
import { promptResult, resourceResult, toolError, toolResult } from '../../worker/declarations/result-constructors.ts'
import { callToolResult, getPromptResult, readResourceResult } from '../../worker/declarations/returned-values.ts'
import { readSchema, type Schema } from '../../worker/declarations/schema.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { CallToolResult } from '../../worker/protocol/types.ts'

const encoded = 'base64 with its padding and nothing before it'
const dateTime = "a date and time such as '2026-07-28T12:30:00Z'"
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

const circle: { self?: unknown } = {}
circle.self = circle
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

  test.each<[string, unknown, unknown]>([
    ['of a full result', { content: [text('t')], isError: null, _meta: null }, { content: [text('t')] }],
    [
      'of toolResult()',
      toolResult({ content: [text('t')], isError: null as never, _meta: null as never }),
      { content: [text('t')] },
    ],
    [
      'of blocks',
      [
        { ...text('t'), annotations: null, _meta: null },
        { ...image(base64, 'image/png'), annotations: { priority: null, audience: null, lastModified: null } },
        { ...resourceLink('a:b', { name: 'n', size: null as never }), title: null, mimeType: null, icons: null },
        { ...embeddedResource({ uri: 'a:b', text: 't', mimeType: null as never }), annotations: null },
      ],
      {
        content: [
          text('t'),
          { ...image(base64, 'image/png'), annotations: {} },
          resourceLink('a:b', { name: 'n' }),
          embeddedResource({ uri: 'a:b', text: 't' }),
        ],
      },
    ],
    [
      'of icons',
      resourceLink('a:b', { name: 'n', icons: [{ src: 'https://a.example', sizes: null as never }] }),
      { content: [resourceLink('a:b', { name: 'n', icons: [{ src: 'https://a.example' }] })] },
    ],
  ])('has no optional members that are null: %s', async (_, value, result) => {
    expect(await callToolResult(value, undefined, 'x')).toStrictEqual(result)
  })

  test.each<[member: string, expected: string, found: string, value: unknown]>([
    ['content[0].annotations', 'an object', '"high"', { ...text('t'), annotations: 'high' }],
    [
      'content[1].annotations.priority',
      'a number from 0 to 1',
      '5',
      [text('t'), { ...text('t'), annotations: { priority: 5 } }],
    ],
    [
      'content[0].annotations.lastModified',
      dateTime,
      '5',
      toolResult({ content: [{ ...text('t'), annotations: { lastModified: 5 as never } }] }),
    ],
    ...['yesterday', '2026-07-28', '2026-02-30T10:00:00Z', '2026-13-01T10:00:00Z', '2026-07-28T10:00:00'].map(
      (lastModified): [string, string, string, unknown] => [
        'content[0].annotations.lastModified',
        dateTime,
        `"${lastModified}"`,
        { ...text('t'), annotations: { lastModified } },
      ],
    ),
    ['content[0].data', encoded, '"not base64"', { type: 'image', data: 'not base64', mimeType: 'image/png' }],
    [
      'content[1].data',
      encoded,
      '"QQ"',
      { content: [text('t'), { type: 'audio', data: 'QQ', mimeType: 'audio/wav' }] },
    ],
    ['content[0].resource.blob', encoded, '"%%"', [{ type: 'resource', resource: { uri: 'a:b', blob: '%%' } }]],
    [
      'content[0].resource.blob',
      encoded,
      '"%%"',
      toolResult({ content: [embeddedResource({ uri: 'a:b', blob: '%%' })] }),
    ],
    ['content[0].size', 'a whole number of 0 or more', 'NaN', resourceLink('a:b', { name: 'n', size: Number.NaN })],
    ['content[0].title', 'a string', '5', resourceLink('a:b', { name: 'n', title: 5 as never })],
    ['content[0].icons.src', 'a string', 'undefined', resourceLink('a:b', { name: 'n', icons: [{} as never] })],
    [
      'content[0].resource.mimeType',
      'a string',
      '5',
      embeddedResource({ uri: 'a:b', text: 't', mimeType: 5 as never }),
    ],
    ['content[0]._meta', 'an object', '[]', { ...text('t'), _meta: [] }],
  ])('has no member that clients reject: %s', async (member, expected, found, value) => {
    await expect(callToolResult(value, undefined, 'x')).rejects.toThrow(
      `"${member}" of the result of tool "x" must be ${expected}, not ${found}`,
    )
  })

  test.each(['2026-07-28T12:30:00Z', '2024-02-29T23:59:59.123456+05:30', new Date().toISOString()])(
    'has the time of the last change %s',
    async (lastModified) => {
      const block = { ...text('t'), annotations: { lastModified } }
      expect(await callToolResult(block, undefined, 'x')).toEqual({ content: [block] })
    },
  )

  test.each<[place: string, lost: string, value: Partial<CallToolResult>]>([
    ['Tool "x" returned', 'a bigint at n', { structuredContent: { n: 1n } }],
    ['Tool "x" returned', 'NaN at n[0]', { structuredContent: { n: [Number.NaN] } }],
    ['Tool "x" returned', 'a value of the class Map at m', { structuredContent: { m: new Map([[1, 2]]) } }],
    [
      'Tool "x" returned',
      'a value that has no JSON form: Converting circular structure',
      { structuredContent: circle },
    ],
    ['"_meta" of the result of tool "x" has', 'a bigint at a', { _meta: { a: 1n } }],
    ['"_meta" of the result of tool "x" has', 'a value that has no JSON form: Converting circular', { _meta: circle }],
    [
      '"content[0]._meta" of the result of tool "x" has',
      'a function at a',
      { content: [{ ...text('t'), _meta: { a: () => 1 } }] },
    ],
  ])('with content has no member without a JSON form: %s %s', async (place, lost, value) => {
    const schema = 'structuredContent' in value ? validator(z.looseObject({})) : undefined
    const full = { content: [text('t')], ...value }
    const expected = expect.objectContaining({
      name: 'TypeError',
      message: expect.stringContaining(`${place} ${lost}`),
    })
    await expect(callToolResult(toolResult(full), schema, 'x')).rejects.toEqual(expected)
    await expect(callToolResult(full, undefined, 'x')).rejects.toEqual(expected)
  })

  test('a block without wrong members is not copied', async () => {
    const block = { ...text('t'), annotations: { priority: 1 } }
    expect((await callToolResult([block], undefined, 'x')).content[0]).toBe(block)
  })

  test('a value without a JSON form is an error', async () => {
    await expect(callToolResult(5n, undefined, 'x')).rejects.toThrow()
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

  test.each<[string, unknown, unknown]>([
    [
      'of an object',
      { description: null, messages: [said({ ...text('a'), annotations: null })], _meta: null },
      { description: 'd', messages: [said(text('a'))] },
    ],
    [
      'of promptResult()',
      promptResult({ description: undefined as never, messages: [], _meta: null as never }),
      { description: 'd', messages: [] },
    ],
    ['of a block', { ...text('a'), _meta: null }, { description: 'd', messages: [said(text('a'))] }],
  ])('has no optional members that are null: %s', (_, value, result) => {
    expect(getPromptResult(value, 'd', 'p')).toStrictEqual(result)
  })

  test.each<[member: string, expected: string, value: unknown]>([
    ['description', 'a string, not 5', promptResult({ description: 5 as never, messages: [] })],
    [
      'messages[1].content.annotations.audience',
      `a list of 'user' and 'assistant', not ["all"]`,
      ['a', { ...text('b'), annotations: { audience: ['all'] } }],
    ],
    [
      'messages[0].content.size',
      'a whole number of 0 or more, not "5"',
      said({ ...resourceLink('a:b', { name: 'n' }), size: '5' }),
    ],
    ['messages[0].content.data', `${encoded}, not "%%"`, said({ type: 'image', data: '%%', mimeType: 'image/png' })],
  ])('has no member that clients reject: %s', (member, expected, value) => {
    expect(() => getPromptResult(value, 'd', 'p')).toThrow(
      expect.objectContaining({
        kind: 'internal_error',
        message: `"${member}" of the result of prompt "p" must be ${expected}`,
      }),
    )
  })

  test.each<[member: string, lost: string, value: unknown]>([
    ['_meta', 'a bigint at a', { messages: [], _meta: { a: 1n } }],
    ['_meta', 'a value that has no JSON form', promptResult({ messages: [], _meta: circle })],
    ['messages[0].content._meta', 'NaN at a', { ...text('a'), _meta: { a: Number.NaN } }],
  ])('has no member without a JSON form: %s with %s', (member, lost, value) => {
    expect(() => getPromptResult(value, 'd', 'p')).toThrow(
      expect.objectContaining({
        kind: 'internal_error',
        message: expect.stringContaining(`"${member}" of the result of prompt "p" has ${lost}`),
      }),
    )
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
    [
      'contents with members that are null or undefined',
      { uri: undefined, mimeType: null, text: 'one', blob: null, _meta: null },
      [{ uri, mimeType: 'a/b', text: 'one' }],
    ],
    [
      'a full result with members that are null or undefined',
      { contents: [{ uri: 'a:b', mimeType: null, text: 't', blob: undefined, _meta: null }], _meta: null },
      [{ uri: 'a:b', text: 't' }],
    ],
    [
      'a result of resourceResult() with members that are null',
      resourceResult({ contents: [{ uri: 'a:b', mimeType: null as never, text: 't' }], _meta: null as never }),
      [{ uri: 'a:b', text: 't' }],
    ],
  ])('%s', (_, value, contents) => {
    expect(readResourceResult(value, uri, 'a/b')).toStrictEqual({ contents })
  })

  test.each<[member: string, expected: string, value: unknown]>([
    ['contents[0].uri', 'a string, not 5', { uri: 5, text: 'one' }],
    ['contents[1].mimeType', 'a string, not 5', ['one', { text: 'two', mimeType: 5 }]],
    ['contents[0]._meta', 'an object, not "x"', { contents: [{ uri, text: 'one', _meta: 'x' }] }],
    ['contents[0].blob', `${encoded}, not 5`, { text: 'one', blob: 5 }],
    ['contents[0].blob', `${encoded}, not "%%"`, { blob: '%%' }],
    ['contents[0].blob', `${encoded}, not "%%"`, { contents: [{ uri, blob: '%%' }] }],
    ['contents[0].blob', `${encoded}, not "%%"`, resourceResult({ contents: [{ uri, blob: '%%' }] })],
  ])('has no member that clients reject: %s', (member, expected, value) => {
    expect(() => readResourceResult(value, uri, 'a/b')).toThrow(
      expect.objectContaining({
        kind: 'internal_error',
        message: `"${member}" of the result of resource "${uri}" must be ${expected}`,
      }),
    )
  })

  test.each<[member: string, lost: string, value: unknown]>([
    ['contents[0]._meta', 'a bigint at a', { text: 'one', _meta: { a: 1n } }],
    ['contents[0]._meta', 'a value that has no JSON form', { contents: [{ uri, text: 'one', _meta: circle }] }],
    ['_meta', 'a value of the class Map at a', { contents: [{ uri, text: 'one' }], _meta: { a: new Map() } }],
  ])('has no member without a JSON form: %s with %s', (member, lost, value) => {
    expect(() => readResourceResult(value, uri, 'a/b')).toThrow(
      expect.objectContaining({
        kind: 'internal_error',
        message: expect.stringContaining(`"${member}" of the result of resource "${uri}" has ${lost}`),
      }),
    )
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
    ['contents[0]', '"one"', { contents: ['one'] }],
    ['contents[0].uri', 'undefined', { contents: [{ uri: undefined, text: 'one' }] }],
    [
      'contents[1].uri',
      '1',
      {
        contents: [
          { uri, text: 'one' },
          { uri: 1, text: 'two' },
        ],
      },
    ],
    ['contents[0]', 'an object', { contents: [{ uri }] }],
    ['contents[0].text', '1', { contents: [{ uri, text: 1 }] }],
    ['contents[0].blob', 'an object', { contents: [{ uri, blob: new Uint8Array(1) }] }],
    ['contents[0]', 'an object', { contents: [{ uri, text: 'one', title: 'One' }] }],
  ])('cannot be a full result with an invalid member: %s is %s', (member, found, value) => {
    expect(() => readResourceResult(value, uri, 'a/b')).toThrow(
      expect.objectContaining({
        kind: 'internal_error',
        message: `"${member}" of the result of resource "note://1" must be ${
          member.endsWith('blob') ? encoded : member.includes('.') ? 'a string' : '{ uri, text } or { uri, blob }'
        }, not ${found}`,
      }),
    )
  })
})

describe('a constructor of results', () => {
  class Answer {
    content = [text('t')]
  }
  const names = {
    toolResult: 'content, structuredContent, isError and _meta',
    promptResult: 'description, messages and _meta',
    resourceResult: 'contents and _meta',
  }
  const constructors = { toolResult, promptResult, resourceResult }

  describe.each(Object.keys(names) as (keyof typeof names)[])('%s()', (maker) => {
    test.each<[found: string, value: unknown]>([
      [`a promise that is not awaited: write ${maker}(await …)`, Promise.resolve({ content: [text('t')] })],
      ['a value of the class Map', new Map([['content', []]])],
      ['a value of the class Answer', new Answer()],
      ['a value of the class Date', new Date(0)],
      ['a value of the class Response', new Response('t')],
      ['bytes', new Uint8Array(1)],
      ['a list', [text('t')]],
      ['a function', () => ({ content: [] })],
      ['a string', 't'],
      ['undefined', undefined],
      ['null', null],
    ])('refuses %s', (found, value) => {
      expect(() => constructors[maker](value as never)).toThrow(
        new TypeError(`${maker}() takes an object with ${names[maker]}, not ${found}`),
      )
    })
  })

  test('takes objects without a prototype', () => {
    const result = Object.assign(Object.create(null), { content: [text('t')] })
    expect(toolResult(result)).toEqual({ content: [text('t')] })
  })
})

describe('a constructor of content', () => {
  const loose = (value: unknown) => value as never

  test.each<[make: () => unknown, problem: string]>([
    [() => text(loose(undefined)), '"text" of text() must be a string, not undefined'],
    [() => text(loose(null)), '"text" of text() must be a string, not null'],
    [() => text(loose(Promise.resolve('t'))), '"text" of text() must be a string, not a promise'],
    [() => image(base64, loose(undefined)), '"mimeType" of image() must be a string, not undefined'],
    [() => audio(bytes, loose(5)), '"mimeType" of audio() must be a string, not 5'],
    [() => resourceLink(loose(undefined), { name: 'n' }), '"uri" of resourceLink() must be a string, not undefined'],
    [() => resourceLink('a:b', loose('n')), '"name" of resourceLink() must be a string, not undefined'],
    [() => resourceLink('a:b', loose(undefined)), '"name" of resourceLink() must be a string, not undefined'],
    [
      () => embeddedResource(loose('text')),
      '"resource" of embeddedResource() must be { uri, text } or { uri, blob }, not "text"',
    ],
    [() => toolError(loose(new Error('no'))), '"message" of toolError() must be a string, not an object'],
    [() => toolError(loose(Promise.resolve('no'))), '"message" of toolError() must be a string, not a promise'],
  ])('refuses a value of another type: %s', (make, problem) => {
    expect(make).toThrow(problem)
  })
})

test.each<[extra: unknown, lost: string]>([
  [5n, 'a bigint at extra'],
  [new Map(), 'a value of the class Map at extra'],
  [Promise.resolve(1), 'a promise that is not awaited at extra'],
])('a block of toolResult() has no other member without a JSON form: %o', async (extra, lost) => {
  const result = toolResult({ content: [text('t'), { ...text('t'), extra } as never] })
  await expect(callToolResult(result, undefined, 'x')).rejects.toThrow(
    `"content[1]" of the result of tool "x" has ${lost}, which has no JSON form`,
  )
  const prompt = promptResult({ messages: [{ role: 'user', content: { ...text('t'), extra } as never }] })
  expect(() => getPromptResult(prompt, undefined, 'x')).toThrow(
    `"messages[0].content" of the result of prompt "x" has ${lost}, which has no JSON form`,
  )
})
