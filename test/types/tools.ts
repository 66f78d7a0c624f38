/** What a tool takes and returns, by each library of schemas. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import {
  type Caller,
  type CallInfo,
  type Context,
  createServer,
  type Infer,
  type InferInput,
  image,
  type Registration,
  resourceLink,
  type Server,
  text,
  toolError,
} from 'edgemcp'
import * as v from 'valibot'
import * as z from 'zod'
import { type Equal, is } from './equal.ts'

const server = createServer({ name: 'types', version: '1' })
const description = 'd'

// Input.

const zodSchema = z.object({
  name: z.string(),
  age: z.number().optional(),
  kind: z.enum(['a', 'b']).default('a'),
  list: z.array(z.object({ x: z.number() })),
  maybe: z.string().nullable(),
  count: z.string().transform(Number),
})
server.tool('zod', { description, inputSchema: zodSchema }, (input, ctx) => {
  is<
    Equal<
      typeof input,
      {
        name: string
        kind: 'a' | 'b'
        list: { x: number }[]
        maybe: string | null
        count: number
        age?: number | undefined
      }
    >
  >()
  is<Equal<typeof ctx, Context>>()
  // @ts-expect-error nobody said that there is more
  input.more
  return input.name
})
is<Equal<Infer<typeof zodSchema>, z.output<typeof zodSchema>>>()
is<Equal<InferInput<typeof zodSchema>, z.input<typeof zodSchema>>>()

const valibotSchema = toStandardJsonSchema(
  v.object({
    name: v.string(),
    age: v.optional(v.number()),
    kind: v.optional(v.picklist(['a', 'b']), 'a'),
    count: v.pipe(v.string(), v.transform(Number)),
  }),
)
server.tool('valibot', { description, inputSchema: valibotSchema }, (input) => {
  is<Equal<typeof input, { name: string; age?: number | undefined; kind: 'a' | 'b'; count: number }>>()
  return input.name
})

const arktypeSchema = type({ name: 'string', 'age?': 'number', kind: "'a'|'b'", count: 'string.numeric.parse' })
server.tool('arktype', { description, inputSchema: arktypeSchema }, (input) => {
  is<Equal<typeof input, { name: string; age?: number; kind: 'a' | 'b'; count: number }>>()
  return input.name
})

const byCaller = {
  all: z.object({ format: z.literal('csv') }),
  pro: z.object({ format: z.enum(['csv', 'xlsx']), pages: z.number() }),
}
server.tool(
  'by caller',
  { description, inputSchema: ({ principal }) => (principal?.tenant === 'pro' ? byCaller.pro : byCaller.all) },
  (input) => {
    is<Equal<typeof input, { format: 'csv' } | { format: 'csv' | 'xlsx'; pages: number }>>()
    return input.format
  },
)
server.tool(
  'by caller, later',
  {
    description,
    inputSchema: async (caller) => {
      is<Equal<typeof caller, Caller>>()
      return arktypeSchema
    },
  },
  (input) => {
    is<Equal<typeof input, { name: string; age?: number; kind: 'a' | 'b'; count: number }>>()
    return input.name
  },
)
server.tool(
  'by caller, with output',
  { description, inputSchema: () => byCaller.pro, outputSchema: z.object({ pages: z.number() }) },
  ({ pages }) => ({ pages }),
)
server.tool(
  'by caller, plain',
  { description, inputSchema: () => ({ type: 'object', properties: { a: { type: 'string' } } }) },
  (input) => {
    is<Equal<typeof input.a, string | undefined>>()
  },
)
// @ts-expect-error a function that returns no schema
server.tool('by nobody', { description, inputSchema: () => 'text' }, () => '')

server.tool('nothing', { description }, (input) => {
  is<Equal<typeof input, Record<string, never>>>()
})

// What is declared can be switched.
is<Equal<ReturnType<typeof declared>, Registration>>()
function declared() {
  return server.tool('one', { description, enabled: false }, () => 'one')
}

// What a tool without an output schema returns.

server.tool('returns text', { description }, () => 'text')
server.tool('returns later', { description }, async () => 'text')
server.tool('returns a block', { description }, () => text('text'))
server.tool('returns blocks', { description }, () => [
  text('text'),
  image('', 'image/png'),
  resourceLink('a:b', { name: 'b' }),
])
server.tool('returns a result', { description }, () => ({ content: [text('text')], _meta: { a: 1 } }))
server.tool('returns constant blocks', { description }, () => [{ type: 'text', text: 'text' }] as const)
const icons = [{ src: 'https://e.com/a.svg', sizes: ['any'] }] as const
const annotations = { audience: ['user'], priority: 1 } as const
const constant = {
  content: [
    { type: 'text', text: 'text', annotations },
    { type: 'resource_link', uri: 'a:b', name: 'b', icons },
  ],
} as const
server.tool('returns a constant result', { description }, () => constant)
server.tool('returns a failure', { description }, () => toolError('no'))
server.tool('returns nothing', { description }, () => {})
server.tool('returns nothing later', { description }, async () => {})
server.tool('returns a result as handlers of SDKs do', { description, inputSchema: zodSchema }, ({ name }) => ({
  content: [{ type: 'text', text: name }],
}))
server.tool('returns this or that', { description, inputSchema: zodSchema }, ({ name }) =>
  name === '' ? toolError('no') : name,
)
server.tool('may return nothing', { description, inputSchema: zodSchema }, ({ name }) => {
  if (name !== '') return name
  return undefined
})
// @ts-expect-error a number is no text
server.tool('returns a number', { description }, () => 5)
// @ts-expect-error an object without an output schema is no content
server.tool('returns an object', { description }, () => ({ a: 1 }))
// @ts-expect-error a list of texts is no content
server.tool('returns texts', { description }, () => ['a'])
// @ts-expect-error a block of no known type
server.tool('returns a strange block', { description }, () => ({ type: 'chart' }))
// @ts-expect-error an image without a type
server.tool('returns half an image', { description }, () => ({ type: 'image', data: '' }))

// What a tool with one returns: what goes into the schema.

const sum = z.object({ sum: z.number(), unit: z.string().default('m') })
server.tool('sums', { description, outputSchema: sum }, () => ({ sum: 1 }))
server.tool('sums later', { description, outputSchema: sum }, async () => ({ sum: 1, unit: 'cm' }))
server.tool('sums in full', { description, outputSchema: sum }, () => ({ content: [], structuredContent: { sum: 1 } }))
server.tool('sums as handlers of SDKs do', { description, inputSchema: zodSchema, outputSchema: sum }, ({ name }) => ({
  content: [{ type: 'text', text: name }],
  structuredContent: { sum: 1 },
}))
server.tool('sums as async handlers of SDKs do', { description, outputSchema: sum }, async () => ({
  content: [{ type: 'text', text: '1' }],
  structuredContent: { sum: 1, unit: 'cm' },
}))
const summed = { content: [{ type: 'text', text: '1' }], structuredContent: { sum: 1, unit: 'm' } } as const
server.tool('sums a constant', { description, outputSchema: sum }, () => summed)
server.tool('cannot sum', { description, outputSchema: sum }, () => toolError('no'))
server.tool('lists', { description, outputSchema: z.array(z.string()) }, () => ['a'])
server.tool(
  'sums by valibot',
  { description, outputSchema: toStandardJsonSchema(v.object({ sum: v.number() })) },
  () => ({
    sum: 1,
  }),
)
server.tool('sums by arktype', { description, outputSchema: type({ sum: 'number' }) }, () => ({ sum: 1 }))
// @ts-expect-error the sum is a number
server.tool('sums wrongly', { description, outputSchema: sum }, () => ({ sum: '1' }))
// @ts-expect-error the sum is missing
server.tool('sums nothing', { description, outputSchema: sum }, () => ({}))
// @ts-expect-error nothing is returned
server.tool('does not sum', { description, outputSchema: sum }, () => {})
// @ts-expect-error text is no sum
server.tool('tells the sum', { description, outputSchema: sum }, () => 'one')
const valibotSum = toStandardJsonSchema(v.object({ sum: v.number() }))
// @ts-expect-error the sum is a number
server.tool('sums wrongly by valibot', { description, outputSchema: valibotSum }, () => ({ sum: 'x' }))
// @ts-expect-error the sum is a number
server.tool('sums wrongly by arktype', { description, outputSchema: type({ sum: 'number' }) }, () => ({ sum: 'x' }))

// Declarations.

server.tool(
  'with everything',
  {
    title: 'T',
    description,
    annotations: { readOnlyHint: true, title: 'A' },
    icons: [{ src: 'https://e.com/a.png', theme: 'dark' }],
    _meta: { 'com.example/a': 1 },
    visibleTo: ({ principal }) => principal?.scopes.includes('x') ?? false,
  },
  () => 'text',
)
const definition = { description, icons, scopes: ['a'], annotations: { readOnlyHint: true } } as const
server.tool('declared by a constant', definition, () => 'text')
server.tool('enabled later', { description, visibleTo: async () => true }, () => 'text')
// @ts-expect-error a description is needed
server.tool('undescribed', {}, () => 'text')
// @ts-expect-error a handler is needed
server.tool('unhandled', { description })
// @ts-expect-error a hint that is none
server.tool('hinted', { description, annotations: { readOnly: true } }, () => 'text')
// @ts-expect-error an option that is none
server.tool('optioned', { description, input: zodSchema }, () => 'text')
// @ts-expect-error text is no schema
server.tool('schemaless', { description, inputSchema: 'text' }, () => 'text')
// @ts-expect-error enabled says yes or no
server.tool('vaguely enabled', { description, visibleTo: () => 'yes' }, () => 'text')
// @ts-expect-error a server needs a version
createServer({ name: 'types' })
// @ts-expect-error caching is public or private
createServer({ name: 'types', version: '1', caching: { ttlMs: 1, cacheScope: 'everyone' } })

// Modules.

server.use(
  (module) => {
    is<Equal<typeof module, Server>>()
    module.tool('plugged', { description }, () => 'text')
  },
  { prefix: 'a_' },
)
server.intercept(async (call, next) => {
  is<Equal<typeof call, CallInfo>>()
  return next({ ...call.params, arguments: {} })
})
server.intercept(({ signal }, next) => (signal.aborted ? { type: 'result', result: {} } : next()))
// @ts-expect-error an interceptor returns an outcome
server.intercept(async (_call, next) => {
  await next()
})
// @ts-expect-error an interceptor has no names to put a prefix before
server.intercept(async (_call, next) => next(), { prefix: 'a_' })
// @ts-expect-error a module is a function
server.use({ tool: 'text' })
