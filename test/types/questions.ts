/** What comes back from questions, and from the rest of a context. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import {
  type Context,
  createServer,
  type FormResult,
  type Implementation,
  type Principal,
  type Root,
  type SamplingResult,
} from 'edgemcp'
import { converse } from 'edgemcp/sampling'
import * as v from 'valibot'
import * as z from 'zod'
import { type Equal, is } from './equal.ts'

export async function ask(ctx: Context) {
  const answer = await ctx.elicit('a', 'm', z.object({ sure: z.boolean(), note: z.string().optional() }))
  is<Equal<typeof answer, FormResult<{ sure: boolean; note?: string | undefined }>>>()
  // @ts-expect-error it may have been declined
  answer.content.sure
  if (answer.action === 'accept') is<Equal<typeof answer.content.sure, boolean>>()
  else {
    is<Equal<typeof answer.action, 'decline' | 'cancel'>>()
    is<Equal<typeof answer.content, undefined>>()
  }
  // Optional chaining is enough for most.
  const sure = answer.content?.sure
  is<Equal<typeof sure, boolean | undefined>>()
  // @ts-expect-error nobody asked for that
  answer.content?.colour

  const byValibot = await ctx.elicit('b', 'm', toStandardJsonSchema(v.object({ size: v.picklist(['s', 'l']) })))
  is<Equal<typeof byValibot, FormResult<{ size: 's' | 'l' }>>>()

  const byArktype = await ctx.elicit('c', 'm', type({ count: 'number' }))
  is<Equal<typeof byArktype, FormResult<{ count: number }>>>()

  const byJson = await ctx.elicit('d', 'm', {
    type: 'object',
    properties: {
      colour: { enum: ['red', 'green'] },
      titled: { oneOf: [{ const: 'a', title: 'A' }] },
      several: { type: 'array', items: { enum: ['x', 'y'] } },
      count: { type: 'integer' },
    },
    required: ['colour', 'titled', 'several'],
  })
  is<
    Equal<typeof byJson, FormResult<{ colour: 'red' | 'green'; titled: 'a'; several: ('x' | 'y')[]; count?: number }>>
  >()

  // @ts-expect-error a question has a key
  await ctx.elicit('Really?', z.object({}))
  // @ts-expect-error a question has a schema
  await ctx.elicit('e', 'Really?')
}

export async function sample(ctx: Context) {
  const answer = await ctx.sample('a', { prompt: 'p', maxTokens: 5 })
  is<Equal<typeof answer, SamplingResult>>()
  is<Equal<typeof answer.text, string>>()
  await ctx.sample('b', {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'image', data: '', mimeType: 'image/png' },
        ],
      },
    ],
    maxTokens: 5,
    systemPrompt: 's',
    modelPreferences: { hints: [{ name: 'fast' }], speedPriority: 1 },
    toolChoice: { mode: 'auto' },
    tools: [{ name: 'a', inputSchema: { type: 'object' } }],
  })
  // @ts-expect-error how many tokens at most?
  await ctx.sample('c', { prompt: 'p' })
  // @ts-expect-error either a prompt or messages
  await ctx.sample('d', { prompt: 'p', messages: [], maxTokens: 5 })
  // @ts-expect-error nothing is asked
  await ctx.sample('e', { maxTokens: 5 })
}

export async function rest(ctx: Context) {
  is<Equal<Awaited<ReturnType<Context['roots']>>, readonly Root[]>>()
  is<Equal<typeof ctx.principal, Principal | undefined>>()
  is<Equal<typeof ctx.client, Implementation | undefined>>()
  is<Equal<typeof ctx.session, { readonly id: string } | undefined>>()
  is<Equal<typeof ctx.signal, AbortSignal>>()

  const id = await ctx.once('a', () => 5)
  is<Equal<typeof id, number>>()
  const later = await ctx.once('b', async () => ({ a: 'text' }))
  is<Equal<typeof later, { a: string }>>()
  const kept = await ctx.once('d', () => ({
    at: new Date(),
    all: [new Date(), undefined],
    id: 1 as const,
    m: new Map(),
    e: new RangeError('no'),
  }))
  is<Equal<typeof kept, { at: string; all: (string | null)[]; id: 1; m: never; e: never }>>()
  const nothing = await ctx.once('c', () => {})
  is<Equal<typeof nothing, void>>()

  ctx.progress(1)
  ctx.progress(1, 2, 'half')
  ctx.log('info', { a: 1 }, 'me')
  ctx.closeStream()
  ctx.closeStream({ retryMs: 5000 })
  // @ts-expect-error no such level
  ctx.log('loud', 'text')
  // @ts-expect-error no such feature
  ctx.supports('everything')
  // @ts-expect-error how far?
  ctx.progress()
}

// A context is read, not written.
export function write(ctx: Context) {
  // @ts-expect-error read only
  ctx.principal = undefined
  // @ts-expect-error read only
  ctx.meta.a = 1
}

// In a handler it is the same context.
createServer({ name: 'types', version: '1' }).tool('asks', { description: 'd' }, async (_, ctx) => {
  const { content } = await ctx.elicit('name', 'Who?', z.object({ name: z.string() }))
  return content?.name ?? 'nobody'
})

const server = createServer({ name: 'n', version: '1' })
const Size = server.defineForm(z.object({ size: z.number() }))
export async function askWithForm(ctx: Context) {
  const { content } = await ctx.elicit('size', 'm', Size)
  is<Equal<typeof content, { size: number } | undefined>>()
}

export async function converseWith(ctx: Context) {
  const { text, turns } = await converse(ctx, 'c', {
    prompt: 'p',
    maxTokens: 5,
    tools: {
      add: {
        description: 'd',
        inputSchema: z.object({ a: z.number() }),
        execute(input) {
          is<Equal<typeof input, { a: number }>>()
          return input.a
        },
      },
      greet: {
        description: 'd',
        inputSchema: type({ name: 'string' }),
        execute(input) {
          is<Equal<typeof input, { name: string }>>()
        },
      },
    },
  })
  is<Equal<typeof text, string>>()
  is<Equal<typeof turns, number>>()
}

/** In the raw form, any handler may return what it asks. */
server.tool('raw', { description: 'd', outputSchema: z.object({ a: z.string() }) }, async (_, ctx) => {
  const name = ctx.inputResponse('name')
  if (!name) return ctx.requestInput({ name: { method: 'elicitation/create', params: { message: 'm' } } })
  // @ts-expect-error it may have been declined
  name.content.a
  return { a: String(name.content?.a) }
})
