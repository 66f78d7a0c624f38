/** What a literal JSON Schema says about the input of a tool. */
import { createServer, type Infer, type JsonSchema } from 'edgemcp'
import { type Equal, is } from './equal.ts'

const server = createServer({ name: 'types', version: '1' })
const description = 'd'

server.tool(
  'plain',
  {
    description,
    inputSchema: {
      type: 'object',
      properties: {
        text: { type: 'string', minLength: 1 },
        number: { type: 'number' },
        integer: { type: 'integer', default: 5 },
        boolean: { type: 'boolean' },
        nothing: { type: 'null' },
      },
      required: ['text', 'number'],
    },
  },
  (input) => {
    is<Equal<typeof input, { text: string; number: number; integer?: number; boolean?: boolean; nothing?: null }>>()
    // @ts-expect-error nobody said that there is more
    input.more
    return input.text
  },
)

server.tool(
  'choices',
  {
    description,
    inputSchema: {
      type: 'object',
      properties: {
        colour: { enum: ['red', 'green'] },
        typed: { type: 'string', enum: ['a', 'b'] },
        mixed: { enum: [1, 'two', null, true] },
        fixed: { const: 'always' },
        five: { type: 'integer', const: 5 },
        either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
        one: { oneOf: [{ const: 'x', title: 'X' }, { const: 'y' }] },
        maybe: { type: ['string', 'null'] },
        many: { type: ['string', 'number', 'boolean', 'null'] },
      },
      required: ['colour', 'typed', 'mixed', 'fixed', 'five', 'either', 'one', 'maybe', 'many'],
    },
  },
  (input) => {
    is<Equal<typeof input.colour, 'red' | 'green'>>()
    is<Equal<typeof input.typed, 'a' | 'b'>>()
    is<Equal<typeof input.mixed, 1 | 'two' | null | true>>()
    is<Equal<typeof input.fixed, 'always'>>()
    is<Equal<typeof input.five, 5>>()
    is<Equal<typeof input.either, string | number>>()
    is<Equal<typeof input.one, 'x' | 'y'>>()
    is<Equal<typeof input.maybe, string | null>>()
    is<Equal<typeof input.many, string | number | boolean | null>>()
  },
)

server.tool(
  'nested',
  {
    description,
    inputSchema: {
      type: 'object',
      properties: {
        list: { type: 'array', items: { type: 'string' } },
        lists: { type: 'array', items: { type: 'array', items: { type: 'number' } } },
        choices: { type: 'array', items: { enum: ['a', 'b'] } },
        anything: { type: 'array' },
        inner: {
          type: 'object',
          properties: { deep: { type: 'object', properties: { value: { type: 'boolean' } }, required: ['value'] } },
          required: ['deep'],
        },
        people: {
          type: 'array',
          items: {
            type: 'object',
            properties: { name: { type: 'string' }, age: { type: 'integer' } },
            required: ['name'],
          },
        },
        maybe: { type: ['object', 'null'], properties: { a: { type: 'string' } }, required: ['a'] },
        maybes: { type: ['array', 'null'], items: { type: 'string' } },
        map: { type: 'object' },
        words: { type: 'object', additionalProperties: { type: 'string' } },
      },
      required: ['list', 'lists', 'choices', 'anything', 'inner', 'people', 'maybe', 'maybes', 'map', 'words'],
    },
  },
  (input) => {
    is<Equal<typeof input.list, string[]>>()
    is<Equal<typeof input.lists, number[][]>>()
    is<Equal<typeof input.choices, ('a' | 'b')[]>>()
    is<Equal<typeof input.anything, unknown[]>>()
    is<Equal<typeof input.inner, { deep: { value: boolean } }>>()
    is<Equal<typeof input.people, { name: string; age?: number }[]>>()
    is<Equal<typeof input.maybe, { a: string } | null>>()
    is<Equal<typeof input.maybes, string[] | null>>()
    is<Equal<typeof input.map, Record<string, unknown>>>()
    is<Equal<typeof input.words, Record<string, string>>>()
  },
)

server.tool(
  'beyond',
  {
    description,
    inputSchema: {
      type: 'object',
      properties: { referred: { $ref: '#/$defs/a' }, all: { allOf: [{ type: 'string' }] }, free: {}, yes: true },
      required: ['referred', 'all', 'free', 'yes'],
      $defs: { a: { type: 'string' } },
    },
  },
  (input) => {
    is<Equal<typeof input, { referred: unknown; all: unknown; free: unknown; yes: unknown }>>()
  },
)

server.tool('no properties', { description, inputSchema: { type: 'object' } }, (input) => {
  is<Equal<typeof input, Record<string, unknown>>>()
})

server.tool(
  'nothing required',
  { description, inputSchema: { type: 'object', properties: { a: { type: 'string' } } } },
  (input) => {
    is<Equal<typeof input, { a?: string }>>()
  },
)

// A schema from elsewhere says nothing, and nothing is known.
declare const elsewhere: JsonSchema
server.tool('elsewhere', { description, inputSchema: elsewhere }, (input) => {
  is<Equal<typeof input, unknown>>()
})

// A constant works like a literal.
const constant = { type: 'object', properties: { a: { enum: ['x'] } }, required: ['a'] } as const
is<Equal<Infer<typeof constant>, { a: 'x' }>>()
server.tool('constant', { description, inputSchema: constant }, (input) => {
  is<Equal<typeof input, { a: 'x' }>>()
})

// Output.
const outputSchema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] } as const
server.tool('sum', { description, outputSchema }, () => ({ sum: 1 }))
server.tool('later', { description, outputSchema }, async () => ({ sum: 1 }))
server.tool('list', { description, outputSchema: { type: 'array', items: { type: 'string' } } }, () => ['a'])
server.tool('text', { description, outputSchema: { type: 'string' } }, () => 'text')
server.tool('null', { description, outputSchema: { type: 'null' } }, () => null)
server.tool('full', { description, outputSchema }, () => ({ content: [], structuredContent: { sum: 1 } }))
server.tool('fails', { description, outputSchema }, () => ({ content: [], isError: true }))
// @ts-expect-error the sum is a number
server.tool('wrong', { description, outputSchema }, () => ({ sum: '1' }))
// @ts-expect-error the sum is missing
server.tool('empty', { description, outputSchema }, () => ({}))
// @ts-expect-error nothing is returned
server.tool('nothing', { description, outputSchema }, () => {})
// @ts-expect-error text is no output value
server.tool('only text', { description, outputSchema }, () => 'one')
// @ts-expect-error a choice that is none
server.tool('choice', { description, outputSchema: { enum: ['a', 'b'] } }, () => 'c')
