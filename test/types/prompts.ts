/** What a prompt takes and says. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import { createServer, image, text } from 'edgemcp'
import * as v from 'valibot'
import * as z from 'zod'
import { type Equal, is } from './equal.ts'

const server = createServer({ name: 'types', version: '1' })
const description = 'd'
const args = z.object({ language: z.enum(['rust', 'ruby']), code: z.string().optional() })

server.prompt('zod', { description, argsSchema: args }, (args, ctx) => {
  is<Equal<typeof args, { language: 'rust' | 'ruby'; code?: string | undefined }>>()
  is<Equal<ReturnType<typeof ctx.supports>, boolean>>()
  return args.language
})
server.prompt('valibot', { description, argsSchema: toStandardJsonSchema(v.object({ code: v.string() })) }, (args) => {
  is<Equal<typeof args, { code: string }>>()
  return args.code
})
server.prompt('arktype', { description, argsSchema: type({ code: 'string', 'more?': 'string' }) }, (args) => {
  is<Equal<typeof args, { code: string; more?: string }>>()
  return args.code
})
server.prompt(
  'JSON Schema',
  {
    description,
    argsSchema: { type: 'object', properties: { code: { type: 'string' }, kind: { enum: ['a'] } }, required: ['code'] },
  },
  (args) => {
    is<Equal<typeof args, { code: string; kind?: 'a' }>>()
    return args.code
  },
)
server.prompt('nothing', { description }, (args) => {
  is<Equal<typeof args, Record<string, never>>>()
  return 'text'
})
// @ts-expect-error there is no such argument
server.prompt('more', { description, argsSchema: args }, ({ more }) => more)

// Completers.

server.prompt(
  'completes',
  {
    description,
    argsSchema: args,
    complete: {
      language: (prefix, known) => {
        is<Equal<typeof prefix, string>>()
        is<Equal<typeof known.code, string | undefined>>()
        return ['rust', 'ruby'].filter((name) => name.startsWith(prefix))
      },
      code: async () => ({ values: [], hasMore: false }),
    },
  },
  ({ language }) => language,
)
// @ts-expect-error there is no such argument
server.prompt('completes more', { description, argsSchema: args, complete: { more: () => [] } }, () => 'text')
// @ts-expect-error values are texts
server.prompt('completes numbers', { description, argsSchema: args, complete: { code: () => [1] } }, () => 'text')

// What has been typed so far is text, whatever the schema makes of it.
server.prompt(
  'converts',
  {
    description,
    argsSchema: z.object({ count: z.string().transform(Number), unit: z.string() }),
    complete: {
      unit: (_, known) => {
        is<Equal<typeof known.count, string | undefined>>()
        return ['m']
      },
    },
  },
  ({ count }) => {
    is<Equal<typeof count, number>>()
    return 'text'
  },
)

// What a prompt says.

server.prompt('text', { description }, () => 'text')
server.prompt('later', { description }, async () => 'text')
server.prompt('block', { description }, () => image('', 'image/png'))
server.prompt('message', { description }, () => ({ role: 'assistant', content: text('text') }))
server.prompt('several', { description }, () => ['text', text('text'), { role: 'assistant', content: text('text') }])
server.prompt('result', { description }, () => ({
  messages: [{ role: 'user', content: text('text') }],
  description: 'other',
}))
server.prompt(
  'constant',
  { description },
  () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'text' } }] }) as const,
)
// @ts-expect-error nothing is said
server.prompt('silent', { description }, () => {})
// @ts-expect-error a number is no text
server.prompt('number', { description }, () => 5)
// @ts-expect-error nobody has this role
server.prompt('role', { description }, () => ({ role: 'system', content: text('text') }))
// @ts-expect-error content is one block
server.prompt('blocks', { description }, () => ({ role: 'user', content: [text('text')] }))
