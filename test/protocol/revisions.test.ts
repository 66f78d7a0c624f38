import { describe, expect, test } from 'vitest'
import { type ErrorKind, errorTable } from '../../worker/protocol/errors.ts'
import { negotiateVersion } from '../../worker/protocol/negotiate-version.ts'
import type { Revision, Traits } from '../../worker/protocol/revision.ts'
import { revisionOfHeader } from '../../worker/protocol/revisions/default-version.ts'
import {
  revisionOf,
  revisions,
  sessionRevisions,
  statelessRevisions,
  supportedVersions,
} from '../../worker/protocol/revisions/index.ts'
import type {
  ClientCapabilities,
  InputRequest,
  JsonSchema,
  Notification,
  Params,
  Result,
} from '../../worker/protocol/types.ts'

const R1 = '2024-11-05'
const R2 = '2025-03-26'
const R3 = '2025-06-18'
const R4 = '2025-11-25'
const R5 = '2026-07-28'

const at = (date: string): Revision => {
  const revision = revisionOf(date)
  if (!revision) throw new Error(date)
  return revision
}

/** A value nobody may change while it is told in older words. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null)
    for (const member of Object.values(Object.freeze(value))) frozen(member)
  return value
}

// One of everything, in the newest vocabulary.

const icons = [{ src: 'https://example.com/i.png', sizes: ['48x48'], theme: 'dark' }]
const _meta = { 'com.example/a': 1 }
const annotations = { audience: ['user'], priority: 0.5, lastModified: '2026-01-01T00:00:00Z' }
const linked = { type: 'resource_link', uri: 'note://1', name: 'n1', title: 'Note 1', icons, annotations, _meta }
const blocks = [
  { type: 'text', text: 't', annotations, _meta },
  { type: 'image', data: 'AAAA', mimeType: 'image/png', annotations, _meta },
  { type: 'audio', data: 'AAAA', mimeType: 'audio/wav', annotations, _meta },
  linked,
  { type: 'resource', resource: { uri: 'note://1', text: 'one', _meta }, annotations, _meta },
]

const lists: Readonly<Record<string, Result>> = frozen({
  'tools/list': {
    tools: [
      {
        name: 'add',
        title: 'Add',
        description: 'Adds',
        inputSchema: { type: 'object', properties: { a: { type: 'number', title: 'A', 'x-mcp-header': 'A' } } },
        outputSchema: { type: 'object', properties: { sum: { type: 'number' } } },
        annotations: { title: 'Adder', readOnlyHint: true },
        icons,
        _meta,
      },
    ],
    nextCursor: 'next',
    ttlMs: 5,
    cacheScope: 'public',
  },
  'resources/list': {
    resources: [
      {
        uri: 'note://1',
        name: 'n1',
        title: 'N',
        description: 'd',
        mimeType: 'a/b',
        size: 1,
        annotations,
        icons,
        _meta,
      },
    ],
    ttlMs: 5,
    cacheScope: 'public',
  },
  'resources/templates/list': {
    resourceTemplates: [
      { uriTemplate: 'note://{id}', name: 'n', title: 'N', description: 'd', annotations, icons, _meta },
    ],
    ttlMs: 5,
    cacheScope: 'public',
  },
  'prompts/list': {
    prompts: [
      {
        name: 'review',
        title: 'Review',
        description: 'd',
        arguments: [{ name: 'code', title: 'Code', description: 'd', required: true }],
        icons,
        _meta,
      },
    ],
    ttlMs: 5,
    cacheScope: 'public',
  },
})
const entries: Record<string, string> = {
  'tools/list': 'tools',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'prompts/list': 'prompts',
}

/** The first entry of a list, as this revision writes it. */
const entry = (revision: Revision, method: string) =>
  (revision.result(method, lists[method] as Result)[entries[method] as string] as Params[])[0] as Params

const called = (revision: Revision, result: Result) => revision.result('tools/call', frozen(result))
const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)
const listedOutput = (revision: Revision, outputSchema: JsonSchema) => {
  const [tool] = revision.result('tools/list', frozen({ tools: [{ name: 'n', outputSchema }] })).tools as Params[]
  return (tool?.outputSchema ?? {}) as JsonSchema
}
const toolContent = (revision: Revision) => called(revision, { content: blocks }).content as Params[]
const promptContent = (revision: Revision) =>
  (
    revision.result('prompts/get', frozen({ messages: blocks.map((content) => ({ role: 'user', content })) }))
      .messages as { content: Params }[]
  ).map(({ content }) => content)
const readContents = (revision: Revision) =>
  (
    revision.result(
      'resources/read',
      frozen({ contents: [{ uri: 'a:b', text: 't', _meta }], ttlMs: 0, cacheScope: 'private' }),
    ).contents as Params[]
  )[0] as Params

const form = (property: Params, more: Params = {}): InputRequest =>
  frozen({
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: 'm',
      requestedSchema: { type: 'object', properties: { field: property } },
      ...more,
    },
  } as InputRequest)
const field = (revision: Revision, property: Params) => {
  const params = revision.ask(form(property))?.params as
    | { requestedSchema: { properties: { field: Params } } }
    | undefined
  return params?.requestedSchema.properties.field
}
const sampling = (content: unknown, more: Params = {}): InputRequest =>
  frozen({
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content }], maxTokens: 5, ...more },
  } as InputRequest)
const sampled = (revision: Revision, content: unknown) =>
  (revision.ask(sampling(content))?.params as { messages: { content: Params }[] } | undefined)?.messages[0]?.content

const info = frozen({
  name: 'n',
  version: '1',
  title: 'T',
  description: 'd',
  icons,
  websiteUrl: 'https://e.com/',
}) as never
const audio = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }
const text = { type: 'text', text: 't' }

const has = (value: unknown, name: string) => typeof value === 'object' && value !== null && name in value
const says = (revision: Revision, method: string, params: Params = {}) =>
  revision.notification({ method, params } as unknown as Notification) !== undefined
const types = (blocks: Params[]) => blocks.map(({ type }) => type)

type Feature = [what: string, first: string, last: string, there: (revision: Revision) => boolean]

/** A row for each trait. */
const traits: Record<keyof Traits, [first: string, last: string]> = {
  stateless: [R5, R5],
  batching: [R2, R2],
  polling: [R4, R4],
}

/** First and last revision that has it. Every other one must not. */
const features: Feature[] = [
  // Transport and lifecycle.
  ['a handshake', R1, R4, ({ requests }) => requests.has('initialize')],
  ...Object.entries(traits).map(
    ([name, [first, last]]): Feature => [
      `the trait ${name}`,
      first,
      last,
      (revision) => revision[name as keyof Traits], // the keys are those of Traits
    ],
  ),
  ['ping', R1, R4, ({ requests }) => requests.has('ping')],
  ['logging/setLevel', R1, R4, ({ requests }) => requests.has('logging/setLevel')],
  ['resources/subscribe', R1, R4, ({ requests }) => requests.has('resources/subscribe')],
  ['resources/unsubscribe', R1, R4, ({ requests }) => requests.has('resources/unsubscribe')],
  ['server/discover', R5, R5, ({ requests }) => requests.has('server/discover')],
  ['subscriptions/listen', R5, R5, ({ requests }) => requests.has('subscriptions/listen')],
  ['notifications/subscriptions/acknowledged', R5, R5, (r) => says(r, 'notifications/subscriptions/acknowledged')],
  ['a kind on results', R5, R5, (r) => has(called(r, { content: [] }), 'resultType')],
  [
    "the server's name on results",
    R5,
    R5,
    (r) => has(called(r, { content: [], _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'n' } } }), '_meta'),
  ],

  // Methods that never went away.
  ...[...Object.keys(entries), 'tools/call', 'resources/read', 'prompts/get', 'completion/complete'].map(
    (method): Feature => [method, R1, R5, ({ requests }) => requests.has(method)],
  ),

  // Caching hints.
  ...Object.keys(entries).map(
    (method): Feature => [
      `caching hints of ${method}`,
      R5,
      R5,
      (r) =>
        has(r.result(method, lists[method] as Result), 'ttlMs') ||
        has(r.result(method, lists[method] as Result), 'cacheScope'),
    ],
  ),
  ['caching hints of a read', R5, R5, (r) => has(r.result('resources/read', { contents: [], ttlMs: 1 }), 'ttlMs')],
  ['the next page', R1, R5, (r) => has(r.result('tools/list', lists['tools/list'] as Result), 'nextCursor')],

  // Entries of lists.
  ['annotations of a tool', R2, R5, (r) => has(entry(r, 'tools/list'), 'annotations')],
  ['the output schema of a tool', R3, R5, (r) => has(entry(r, 'tools/list'), 'outputSchema')],
  ['the input schema of a tool', R1, R5, (r) => has(entry(r, 'tools/list'), 'inputSchema')],
  ...Object.keys(entries).flatMap((method): Feature[] => [
    [`names in ${method}`, R1, R5, (r) => has(entry(r, method), 'name')],
    [`descriptions in ${method}`, R1, R5, (r) => has(entry(r, method), 'description')],
    [`titles in ${method}`, R3, R5, (r) => has(entry(r, method), 'title')],
    [`_meta in ${method}`, R3, R5, (r) => has(entry(r, method), '_meta')],
    [`icons in ${method}`, R4, R5, (r) => has(entry(r, method), 'icons')],
  ]),
  [
    "the title of a prompt's argument",
    R3,
    R5,
    (r) => has((entry(r, 'prompts/list').arguments as Params[])[0], 'title'),
  ],
  [
    "the need of a prompt's argument",
    R1,
    R5,
    (r) => has((entry(r, 'prompts/list').arguments as Params[])[0], 'required'),
  ],
  ...['resources/list', 'resources/templates/list'].flatMap((method): Feature[] => [
    [`priorities in ${method}`, R1, R5, (r) => has(entry(r, method).annotations, 'priority')],
    [`when it was modified in ${method}`, R3, R5, (r) => has(entry(r, method).annotations, 'lastModified')],
  ]),

  // Content.
  ...[['tool results', toolContent] as const, ['prompts', promptContent] as const].flatMap(
    ([where, content]): Feature[] => [
      [`text in ${where}`, R1, R5, (r) => types(content(r)).includes('text')],
      [`images in ${where}`, R1, R5, (r) => types(content(r)).includes('image')],
      [`audio in ${where}`, R2, R5, (r) => types(content(r)).includes('audio')],
      [`links in ${where}`, R3, R5, (r) => types(content(r)).includes('resource_link')],
      [`icons of links in ${where}`, R4, R5, (r) => has(content(r)[3], 'icons')],
      [`embedded resources in ${where}`, R1, R5, (r) => types(content(r)).includes('resource')],
      [`_meta of blocks in ${where}`, R3, R5, (r) => content(r).some((block) => has(block, '_meta'))],
      [`_meta of embedded resources in ${where}`, R3, R5, (r) => has(content(r)[4]?.resource, '_meta')],
      [`priorities of blocks in ${where}`, R1, R5, (r) => has(content(r)[0]?.annotations, 'priority')],
      [
        `when blocks were modified in ${where}`,
        R3,
        R5,
        (r) => content(r).some(({ annotations }) => has(annotations, 'lastModified')),
      ],
    ],
  ),
  ['_meta of what was read', R3, R5, (r) => has(readContents(r), '_meta')],
  [
    'structured content',
    R3,
    R5,
    (r) => has(called(r, { content: [], structuredContent: { a: 1 } }), 'structuredContent'),
  ],
  ...[[1], 'text', 0, false, null].map(
    (value): Feature => [
      `structured content that is ${JSON.stringify(value)}, not wrapped`,
      R5,
      R5,
      (r) => same(called(r, { content: [], structuredContent: value }).structuredContent, value),
    ],
  ),
  ['an output schema of a list, not wrapped', R5, R5, (r) => listedOutput(r, { type: 'array' }).type === 'array'],
  ['failures of tools', R1, R5, (r) => called(r, { content: [], isError: true }).isError === true],

  // Identity and capabilities.
  ["the server's name", R1, R5, (r) => has(r.implementation(info), 'name') && has(r.implementation(info), 'version')],
  ["the server's title", R3, R5, (r) => has(r.implementation(info), 'title')],
  ["the server's description", R4, R5, (r) => has(r.implementation(info), 'description')],
  ["the server's icons", R4, R5, (r) => has(r.implementation(info), 'icons')],
  ["the server's website", R4, R5, (r) => has(r.implementation(info), 'websiteUrl')],
  ...['tools', 'resources', 'prompts', 'logging'].map(
    (name): Feature => [`the capability ${name}`, R1, R5, (r) => has(r.server({ [name]: {} }), name)],
  ),
  ['the capability completions', R2, R5, (r) => has(r.server({ completions: {} }), 'completions')],

  // Notifications.
  ...['tools', 'prompts', 'resources'].map(
    (list): Feature => [`changes of ${list}`, R1, R5, (r) => says(r, `notifications/${list}/list_changed`)],
  ),
  ['updates of resources', R1, R5, (r) => says(r, 'notifications/resources/updated', { uri: 'a:b' })],
  ['log lines', R1, R5, (r) => says(r, 'notifications/message', { level: 'info', data: 1 })],
  ['progress', R1, R5, (r) => says(r, 'notifications/progress', { progressToken: 1, progress: 1 })],
  [
    'a message of progress',
    R2,
    R5,
    (r) =>
      has(
        r.notification({ method: 'notifications/progress', params: { progressToken: 1, progress: 1, message: 'm' } })
          ?.params,
        'message',
      ),
  ],

  // Questions.
  ['questions for roots', R1, R5, (r) => r.ask({ method: 'roots/list', params: {} }) !== undefined],
  ['questions for the model', R1, R5, (r) => r.ask(sampling(text)) !== undefined],
  ['questions for the model with sound', R2, R5, (r) => r.ask(sampling(audio)) !== undefined],
  ['questions for the model with several blocks', R4, R5, (r) => r.ask(sampling([text, text])) !== undefined],
  [
    'questions for the model with tools',
    R4,
    R5,
    (r) => has(r.ask(sampling(text, { tools: [], toolChoice: {} }))?.params, 'tools'),
  ],
  [
    'questions for the model with a choice of tools',
    R4,
    R5,
    (r) => has(r.ask(sampling(text, { toolChoice: {} }))?.params, 'toolChoice'),
  ],
  [
    'questions for the model about tools it used',
    R4,
    R5,
    (r) => r.ask(sampling({ type: 'tool_use', id: '1', name: 'n', input: {} })) !== undefined,
  ],
  [
    'questions for the model about what tools returned',
    R4,
    R5,
    (r) => r.ask(sampling({ type: 'tool_result', toolUseId: '1', content: [] })) !== undefined,
  ],
  ['_meta in questions for the model', R3, R5, (r) => has(sampled(r, { ...text, _meta }), '_meta')],
  [
    'when a block was modified in questions for the model',
    R3,
    R5,
    (r) => has(sampled(r, { ...text, annotations })?.annotations, 'lastModified'),
  ],
  ['questions for a person', R3, R5, (r) => r.ask(form({ type: 'string' })) !== undefined],
  ['a mode of questions', R4, R5, (r) => has(r.ask(form({ type: 'string' }))?.params, 'mode')],
  [
    'a dialect in questions',
    R4,
    R5,
    (r) =>
      has(
        (
          r.ask(form({}, { requestedSchema: { $schema: 'x', type: 'object', properties: {} } }))?.params as
            | Params
            | undefined
        )?.requestedSchema,
        '$schema',
      ),
  ],
  [
    'pages to open',
    R4,
    R5,
    (r) =>
      r.ask({ method: 'elicitation/create', params: { mode: 'url', message: 'm', url: 'https://e.com/' } }) !==
      undefined,
  ],
  ['choices among texts', R3, R5, (r) => has(field(r, { type: 'string', enum: ['a'] }), 'enum')],
  [
    'choices with titles',
    R4,
    R5,
    (r) => has(field(r, { type: 'string', oneOf: [{ const: 'a', title: 'A' }] }), 'oneOf'),
  ],
  ['several choices', R4, R5, (r) => field(r, { type: 'array', items: { type: 'string', enum: ['a'] } }) !== undefined],
  [
    'several choices with titles',
    R4,
    R5,
    (r) => field(r, { type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] } }) !== undefined,
  ],
  ['a default text', R4, R5, (r) => has(field(r, { type: 'string', default: 'a' }), 'default')],
  ['a default number', R4, R5, (r) => has(field(r, { type: 'integer', default: 1 }), 'default')],
  ['a default choice', R4, R5, (r) => has(field(r, { type: 'string', enum: ['a'], default: 'a' }), 'default')],
  ['a default yes or no', R3, R5, (r) => has(field(r, { type: 'boolean', default: true }), 'default')],
  ['limits of a text', R3, R5, (r) => has(field(r, { type: 'string', minLength: 1 }), 'minLength')],
]

describe.each(revisions.map(({ date }) => date))('%s', (date) => {
  test.each(features)('has %s from %s to %s', (_, first, last, there) => {
    expect(there(at(date))).toBe(first <= date && date <= last)
  })
})

describe('content that an older protocol version lacks', () => {
  test('a link becomes a line of text with its URI', () => {
    for (const date of [R1, R2]) {
      expect(toolContent(at(date))[3]).toEqual({ type: 'text', text: 'Note 1: note://1' })
      expect(promptContent(at(date))[3]).toEqual({ type: 'text', text: 'Note 1: note://1' })
    }
    const untitled = called(at(R2), { content: [{ type: 'resource_link', uri: 'a:b', name: 'plain' }] })
    expect(untitled.content).toEqual([{ type: 'text', text: 'plain: a:b' }])
  })

  test('audio becomes a text block', () => {
    expect(toolContent(at(R1))[2]).toEqual({ type: 'text', text: '[audio, audio/wav]' })
    expect(promptContent(at(R1))[2]).toEqual({ type: 'text', text: '[audio, audio/wav]' })
  })

  test('other blocks stay unchanged, in their place', () => {
    expect(types(toolContent(at(R1)))).toEqual(['text', 'image', 'text', 'text', 'resource'])
    expect(types(toolContent(at(R2)))).toEqual(['text', 'image', 'audio', 'text', 'resource'])
    expect(toolContent(at(R1))[1]).toMatchObject({ data: 'AAAA', mimeType: 'image/png' })
    expect(toolContent(at(R1))[4]).toMatchObject({ resource: { uri: 'note://1', text: 'one' } })
  })

  test('choices with titles become an enum with enumNames', () => {
    const titled = { type: 'string', title: 'T', oneOf: [{ const: 'a', title: 'A' }, { const: 'b' }], default: 'a' }
    expect(field(at(R3), titled)).toEqual({ type: 'string', title: 'T', enum: ['a', 'b'], enumNames: ['A', 'b'] })
  })

  test('one unsupported message makes the whole sampling request unsupported', () => {
    const said = (...contents: object[]) => {
      const messages = contents.map((content) => ({ role: 'user', content }))
      return { method: 'sampling/createMessage', params: { messages, maxTokens: 5 } } as InputRequest
    }
    const used = { type: 'tool_use', id: '1', name: 'n', input: {} }
    const picture = { type: 'image', data: '', mimeType: 'image/png' }
    expect(at(R1).ask(said(text, audio))).toBeUndefined()
    expect(at(R1).ask(said(audio, text))).toBeUndefined()
    expect(at(R1).ask(said(text, picture))).toBeDefined()
    expect(at(R2).ask(said(text, audio, picture))).toBeDefined()
    for (const date of [R1, R2, R3]) {
      expect(at(date).ask(said(text, used))).toBeUndefined()
      expect(at(date).ask(said(used, text))).toBeUndefined()
      expect(at(date).ask(said(text, [text] as never))).toBeUndefined()
    }
  })

  test('one unsupported field makes the whole form unsupported', () => {
    const fields = { a: { type: 'string' }, b: { type: 'array', items: { enum: ['x'] } } }
    const asked = form({}, { requestedSchema: { type: 'object', properties: fields } })
    expect(at(R3).ask(asked)).toBeUndefined()
    expect(at(R4).ask(asked)).toEqual(asked)
  })

  test('members that are null stay null', () => {
    const resources = [{ uri: 'a:b', name: 'n', annotations: null }]
    expect(at(R2).result('resources/list', { resources }).resources).toEqual(resources)
  })

  test('other members of an input request stay unchanged', () => {
    const asked = form({ type: 'string', description: 'd' }, { message: 'Who?' })
    expect(at(R3).ask(asked)).toEqual({
      method: 'elicitation/create',
      params: {
        message: 'Who?',
        requestedSchema: { type: 'object', properties: { field: { type: 'string', description: 'd' } } },
      },
    })
  })

  test('required fields exist in every protocol version', () => {
    const requestedSchema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
    for (const date of [R3, R4, R5]) {
      expect(at(date).ask(form({}, { requestedSchema }))?.params).toMatchObject({ requestedSchema })
    }
  })

  test('the input schemas of tools stay unchanged', () => {
    for (const { date } of revisions) {
      expect(entry(at(date), 'tools/list').inputSchema).toEqual(
        (lists['tools/list'] as { tools: Params[] }).tools[0]?.inputSchema,
      )
    }
  })

  test('members of _meta other than serverInfo stay unchanged', () => {
    const _meta = { 'io.modelcontextprotocol/serverInfo': { name: 'n' }, 'com.example/a': 1 }
    expect(called(at(R4), { content: [], _meta })._meta).toEqual({ 'com.example/a': 1 })
  })
})

describe('tool output that is not an object, before 2026-07-28', () => {
  const rev = revisionOf('2025-11-25') as Revision

  test('is listed as an object with the member "result"', () => {
    expect(listedOutput(rev, { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'array' })).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { result: { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'array' } },
      required: ['result'],
    })
  })

  test('keeps its references: to its root, to its definitions, and to schemas with their own $id', () => {
    const wrapped = listedOutput(rev, {
      anyOf: [{ $ref: '#' }, { $ref: '#/$defs/item' }, { $ref: 'https://a.example/s#/x' }, { $ref: '#anchor' }],
      $defs: {
        item: { $id: '#item', properties: { $ref: { type: 'string' }, next: { $ref: '#/$defs/item' } } },
        other: { $id: 'https://b.example/s', items: { $ref: '#/$defs/item' } },
        data: { const: { $ref: '#' }, default: { $ref: '#' }, enum: [{ $ref: '#' }], examples: [{ $ref: '#' }] },
      },
    })
    expect(wrapped.properties).toEqual({
      result: {
        anyOf: [
          { $ref: '#/properties/result' },
          { $ref: '#/properties/result/$defs/item' },
          { $ref: 'https://a.example/s#/x' },
          { $ref: '#anchor' },
        ],
        $defs: {
          item: {
            $id: '#item',
            properties: { $ref: { type: 'string' }, next: { $ref: '#/properties/result/$defs/item' } },
          },
          other: { $id: 'https://b.example/s', items: { $ref: '#/$defs/item' } },
          data: { const: { $ref: '#' }, default: { $ref: '#' }, enum: [{ $ref: '#' }], examples: [{ $ref: '#' }] },
        },
      },
    })
  })

  test.each([
    [{ type: 'object' } as const, { a: 1 }],
    [{ anyOf: [] }, { result: { a: 1 } }],
    [undefined, { a: 1 }],
  ])('an object of the output schema %j becomes %j', (outputSchema, structuredContent) => {
    const result = { content: [], structuredContent: { a: 1 } } as unknown as Result
    expect(rev.result('tools/call', result, { outputSchema }).structuredContent).toEqual(structuredContent)
  })
})

describe('a result of the newest protocol version', () => {
  test('has the resultType complete by default', () => {
    expect(called(at(R5), { content: [] })).toEqual({ resultType: 'complete', content: [] })
    expect(called(at(R5), { resultType: 'input_required', requestState: 's' })).toEqual({
      resultType: 'input_required',
      requestState: 's',
    })
  })
})

describe('client capabilities in terms of the newest protocol version', () => {
  const can = (date: string, capabilities: object) => at(date).client(frozen(capabilities) as ClientCapabilities)

  test('an empty elicitation capability means forms', () => {
    for (const date of [R3, R4, R5]) expect(can(date, { elicitation: {} })).toEqual({ elicitation: { form: {} } })
  })

  test('URLs without forms stay URLs without forms', () => {
    for (const date of [R4, R5]) {
      expect(can(date, { elicitation: { url: {} } })).toEqual({ elicitation: { url: {} } })
      expect(can(date, { elicitation: { form: {}, url: {} } })).toEqual({ elicitation: { form: {}, url: {} } })
    }
  })

  test('an elicitation capability means forms in versions without modes', () => {
    expect(can(R3, { elicitation: { url: {} } })).toEqual({ elicitation: { form: {} } })
  })

  test('an elicitation capability is ignored in versions without elicitation', () => {
    for (const date of [R1, R2]) expect(can(date, { elicitation: {}, roots: {} })).toEqual({ roots: {} })
  })

  test('sampling keeps tools and context in versions that have them', () => {
    for (const date of [R4, R5]) {
      expect(can(date, { sampling: {} })).toEqual({ sampling: {} })
      expect(can(date, { sampling: { tools: {}, context: {} } })).toEqual({ sampling: { tools: {}, context: {} } })
    }
  })

  test('sampling has context and no tools in versions without these capabilities', () => {
    for (const date of [R1, R2, R3]) {
      expect(can(date, { sampling: {} })).toEqual({ sampling: { context: {} } })
      expect(can(date, { sampling: { tools: {} } })).toEqual({ sampling: { context: {} } })
    }
  })

  test('roots and unknown capabilities stay unchanged in every protocol version', () => {
    for (const { date } of revisions) {
      const capabilities = { roots: { listChanged: true }, experimental: { a: {} }, extensions: { 'a/b': {} } }
      expect(can(date, capabilities)).toEqual(capabilities)
    }
  })
})

describe('error codes', () => {
  const numbers = (kind: ErrorKind) => revisions.map((revision) => revision.error(kind)).reverse()
  const same = (code: number, status: number) => Array(5).fill({ code, status })

  test('of an unknown resource differs before 2026-07-28', () => {
    expect(numbers('resource_not_found').map(({ code }) => code)).toEqual([-32002, -32002, -32002, -32002, -32602])
  })

  test('of an unknown method has status 404 in 2026-07-28 only', () => {
    expect(numbers('method_not_found')).toEqual([
      ...Array(4).fill({ code: -32601, status: 200 }),
      { code: -32601, status: 404 },
    ])
  })

  test('of a missing client capability exists in 2026-07-28 only', () => {
    expect(numbers('missing_client_capability')).toEqual([
      ...Array(4).fill({ code: -32600, status: 200 }),
      { code: -32021, status: 400 },
    ])
  })

  test('of other errors are the same in every version', () => {
    expect(numbers('parse_error')).toEqual(same(-32700, 400))
    expect(numbers('invalid_request')).toEqual(same(-32600, 400))
    expect(numbers('invalid_params')).toEqual(same(-32602, 200))
    expect(numbers('internal_error')).toEqual(same(-32603, 200))
  })

  test('of older versions do not occur in the newest one', () => {
    const codes = (Object.keys(errorTable) as ErrorKind[]).map((kind) => at(R5).error(kind).code)
    expect(codes).not.toContain(-32002)
    expect(codes).not.toContain(-32042)
  })
})

describe('the protocol versions', () => {
  test('are the five dates', () => {
    expect(revisions.map(({ date }) => date)).toEqual([R5, R4, R3, R2, R1])
    for (const date of ['', '2025-11-26', 'v1', 'constructor']) expect(revisionOf(date)).toBeUndefined()
  })

  test('are divided into those with sessions and those without', () => {
    expect(statelessRevisions.map(({ date }) => date)).toEqual([R5])
    expect(sessionRevisions.map(({ date }) => date)).toEqual([R4, R3, R2, R1])
    expect(supportedVersions).toEqual([R5])
  })

  test.each([
    [R1, R1],
    [R2, R2],
    [R3, R3],
    [R4, R4],
    [R5, R4],
    ['2099-01-01', R4],
    ['1.0', R4],
    ['', R4],
  ])('negotiated for %s: %s', (asked, settled) => {
    expect(negotiateVersion(asked).date).toBe(settled)
  })

  test('default to 2025-03-26 without a version', () => {
    expect(revisionOfHeader(null).date).toBe(R2)
  })
})
