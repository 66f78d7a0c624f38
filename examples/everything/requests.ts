/** Tools that request something of the client: its roots, a form, a page, a message of its model. */
import { type AskOptions, type Caller, type ClientFeature, type Context, type Server, text } from 'edgemcp'
import { type Store, state } from 'edgemcp/state'
import * as z from 'zod'
import { everyField, fewFields } from './form.ts'
import { reading } from './tools.ts'

const asking = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false }
const askingOutside = { ...asking, openWorldHint: true }

/** The calls of a session that ended with a prerequisite and were not repeated yet, by their arguments. */
const prerequisites = state('prerequisites', { per: 'session' }, (store: Store<Record<string, true>>) => ({
  /** Returns whether the call has to end with the prerequisite. Every second call does not. */
  request(call: string): boolean {
    const isFirst = store.get(call) === undefined
    if (isFirst) store.put(call, true)
    else store.delete(call)
    return isFirst
  },
}))

export function requests(server: Server): void {
  server.tool(
    'get-roots-list',
    {
      visibleTo: ({ supports }) => supports('roots'),
      title: 'Get Roots List Tool',
      description: 'Returns the roots of the client: the folders that the user works in',
      annotations: reading,
    },
    async (_, ctx) => {
      const roots = await ctx.roots()
      if (roots.length === 0) return 'The client supports roots but no roots are currently configured.'
      const lines = roots.map(({ name, uri }, index) => `${index + 1}. ${name ?? 'Unnamed Root'}\n   URI: ${uri}`)
      return [`Current MCP Roots (${roots.length} total):`, ...lines].join('\n\n')
    },
  )

  server.tool(
    'trigger-elicitation-request',
    {
      visibleTo: ({ supports }) => supports('elicitation'),
      title: 'Trigger Elicitation Request Tool',
      description: 'Asks the user to fill in a form with every kind of field',
      annotations: asking,
    },
    async (_, ctx) => {
      const answer = await ctx.elicit('form', 'Please provide inputs for the following fields:', everyField)
      return [text(outcomes[answer.action]), ...(answer.content ? [text(inputsIn(answer.content))] : []), raw(answer)]
    },
  )

  server.tool(
    'trigger-url-elicitation',
    {
      visibleTo: ({ supports }) => supports('elicitation.url'),
      title: 'Trigger URL Elicitation Tool',
      description: 'Asks the user to open a page. With errorPath, the call fails until the user has opened it.',
      inputSchema: z.object({
        url: z.url().describe('The page'),
        message: z.string().default('Please open the link to complete this action.').describe('Explains why'),
        elicitationId: z.string().optional().describe('The id of the elicitation. Default: a random one'),
        errorPath: z.boolean().default(false).describe('Answers with the error -32042 first'),
      }),
      annotations: askingOutside,
    },
    async (input, ctx) => {
      const { url, message, errorPath } = input
      if (errorPath) await requirePrerequisite(JSON.stringify(input), ctx)
      const elicitationId = input.elicitationId ?? (await ctx.once('id', () => crypto.randomUUID()))
      const answer = await ctx.elicitUrl('page', message, url, { elicitationId })
      return [text(pageOutcome(answer.action, elicitationId, url)), raw(answer)]
    },
  )

  server.tool(
    'trigger-sampling-request',
    {
      visibleTo: ({ supports }) => supports('sampling'),
      title: 'Trigger Sampling Request Tool',
      description: 'Requests a message of the model of the client',
      inputSchema: samplingArguments,
      annotations: askingOutside,
    },
    async (input, ctx) => {
      const { text: _, ...message } = await sample('trigger-sampling-request', input, ctx)
      return `LLM sampling result: \n${JSON.stringify(message, null, 2)}`
    },
  )

  server.tool(
    'trigger-sampling-request-async',
    {
      visibleTo: (caller) => handlesTasks(caller, 'tasks.requests.sampling.createMessage'),
      title: 'Trigger Async Sampling Request Tool',
      description: 'Requests a message of the model of the client, which the client works on as a task',
      inputSchema: samplingArguments,
      annotations: askingOutside,
    },
    async (input, ctx) => {
      const { text: _, ...message } = await sample('trigger-sampling-request-async', input, ctx, {
        task: { ttl: '5m' },
      })
      return `[COMPLETED] Async sampling completed!\n\n**Result:**\n${JSON.stringify(message, null, 2)}`
    },
  )

  server.tool(
    'trigger-elicitation-request-async',
    {
      visibleTo: (caller) => handlesTasks(caller, 'tasks.requests.elicitation.create'),
      title: 'Trigger Async Elicitation Request Tool',
      description: 'Asks the user to fill in a form, which the client handles as a task',
      annotations: asking,
    },
    async (_, ctx) => {
      const message = 'Please provide inputs for the following fields (async task demo):'
      const answer = await ctx.elicit('form', message, fewFields, { task: { ttl: '10m' } })
      const content = answer.content ? [text(inputsIn(answer.content))] : []
      return [text(outcomesOfTask[answer.action]), ...content, raw(answer)]
    },
  )
}

/** Only 2025-11-25 has requests that a client answers with a task. */
const handlesTasks = ({ supports, protocolVersion }: Caller, feature: ClientFeature): boolean =>
  protocolVersion === '2025-11-25' && supports(feature)

/** Ends the first call of a session with the error -32042. A client of 2026-07-28 receives an ordinary input request instead. */
async function requirePrerequisite(call: string, ctx: Context): Promise<void> {
  const isFirst = await ctx.once('is first call', () => !ctx.session || ctx.state(prerequisites).request(call))
  if (!isFirst) return
  const message = 'Open this page first, and call the tool again.'
  await ctx.elicitUrl('prerequisite', message, 'https://modelcontextprotocol.io', { required: true })
}

const samplingArguments = z.object({
  prompt: z.string().describe('The text for the model'),
  maxTokens: z.number().default(100).describe('Longest answer, in tokens'),
})

type SamplingArguments = z.infer<typeof samplingArguments>

function sample(tool: string, { prompt, maxTokens }: SamplingArguments, ctx: Context, options?: AskOptions) {
  const text = `Resource ${tool} context: ${prompt}`
  const request = { prompt: text, systemPrompt: 'You are a helpful test server.', maxTokens, temperature: 0.7 }
  return ctx.sample('message', request, options)
}

const outcomes = {
  accept: '✅ User provided the requested information!',
  decline: '❌ User declined to provide the requested information.',
  cancel: '⚠️ User cancelled the elicitation dialog.',
}

const outcomesOfTask = {
  accept: '[COMPLETED] User provided the requested information!',
  decline: '[DECLINED] User declined to provide the requested information.',
  cancel: '[CANCELLED] User cancelled the elicitation dialog.',
}

function pageOutcome(action: keyof typeof outcomes, id: string, url: string): string {
  if (action === 'accept') return `✅ User completed the URL elicitation flow.\nElicitation ID: ${id}\nURL: ${url}`
  if (action === 'decline') return `❌ User declined to open the URL (Elicitation ID: ${id}).`
  return `⚠️ User cancelled the URL elicitation (Elicitation ID: ${id}).`
}

/** The fields that the answer repeats, with the words for them. */
const named = {
  name: 'Name',
  check: 'Agreed to terms',
  email: 'Email',
  homepage: 'Homepage',
  birthdate: 'Birthdate',
  integer: 'Favorite Integer',
  number: 'Favorite Number',
  favoriteColor: 'Favorite Color',
  agreeToTerms: 'Agreed to terms',
}

function inputsIn(content: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(named).filter(([field]) => content[field] !== undefined)
  return `User inputs:\n${given.map(([field, label]) => `- ${label}: ${content[field]}`).join('\n')}`
}

const raw = (answer: object) => text(`\nRaw result: ${JSON.stringify(answer, null, 2)}`)
