/** What docs/guides/elicitation.md and docs/guides/replay.md show besides the counter. */
import { createServer, type JsonSchema, serve } from 'edgemcp'
import { converse } from 'edgemcp/sampling'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const server = createServer({ name: 'asking', version: '1.0.0' })
let total = 0
const forecast = (city: string) => (city === 'Oslo' ? 'snow' : 'sun')
const notes = 'Tea is green.'

const Account = z.object({ account: z.string() })
const connected = new Set<string>()
const isConnected = async (account: string) => connected.has(account)
server.tool('connect', { description: 'What the page does', inputSchema: Account }, ({ account }) => {
  connected.add(account)
})

let prices = 4
let orders = 0
const fetchPrice = async () => ++prices
const placeOrder = async (price: number) => `${++orders} at ${price}`

const Address = server.defineForm(
  z.object({
    street: z.string().min(1).describe('Street and number'),
    mail: z.email().optional(),
    speed: z.enum(['standard', 'express']).default('standard'),
    gift: z.boolean().default(false),
  }),
)

server.tool('ship', { description: 'Ships the order' }, async (_, ctx) => {
  if (!ctx.supports('elicitation')) return 'This client cannot show forms.'
  const answer = await ctx.elicit('address', 'Where should the order go?', Address)
  if (answer.action !== 'accept') return 'Nothing was shipped.'
  return `Shipped to ${answer.content.street}, ${answer.content.speed} delivery.`
})

server.tool('import_contacts', { description: 'Imports contacts', inputSchema: Account }, async ({ account }, ctx) => {
  if (!(await isConnected(account))) {
    const page = `https://example.com/connect?${new URLSearchParams({ account })}`
    const { action } = await ctx.elicitUrl('connect', 'Connect your account first', page, { required: true })
    if (action !== 'accept') return 'The account was not connected.'
    if (!(await isConnected(account))) return 'Finish on the page, then call this tool again.'
    ctx.elicitationComplete('connect')
  }
  return `Imported the contacts of ${account}.`
})

const pages = {
  create: async (page: { elicitationId: string; session: string | undefined }) => btoa(JSON.stringify(page)),
}
server.tool('connect_later', { description: 'Connects an account' }, async (_, ctx) => {
  const { elicitationId, url } = await ctx.once('page', async () => {
    const elicitationId = crypto.randomUUID()
    const token = await pages.create({ elicitationId, session: ctx.session?.id })
    return { elicitationId, url: `https://connect.example.com/?page=${token}` }
  })
  const { action } = await ctx.elicitUrl('connect', 'Connect your account', url, { elicitationId })
  return action === 'accept' ? 'Finish on the page.' : 'The account was not connected.'
})

// Called by the page, once its user has finished:
export async function onFinished({ elicitationId, session }: { elicitationId: string; session?: string }) {
  if (session) await server.notify.elicitationComplete(elicitationId, { session })
}

server.tool('review', { description: 'Lets the model of the client review the notes' }, async (_, ctx) => {
  const request = { prompt: `Review these notes: ${notes}`, maxTokens: 2000 }
  const { text } = await ctx.sample('review', request, { task: { ttl: '1d' } })
  return text
})

server.tool('summarize', { description: 'Summarizes the notes' }, async (_, ctx) => {
  const { text } = await ctx.sample('summary', {
    systemPrompt: 'Answer with one sentence.',
    prompt: `Summarize these notes: ${notes}`,
    maxTokens: 200,
  })
  return text
})

server.tool('pack', { description: 'Says what to pack' }, async (_, ctx) => {
  const { text } = await converse(ctx, 'luggage', {
    prompt: 'What to pack for Oslo and Rome?',
    maxTokens: 500,
    tools: {
      weather: {
        description: 'How the weather is in a city',
        inputSchema: z.object({ city: z.string() }),
        execute: ({ city }) => forecast(city),
      },
    },
  })
  return text
})

server.tool('list_folders', { description: 'Lists the folders of the client' }, async (_, ctx) => {
  const roots = await ctx.roots()
  return roots.map(({ uri, name }) => name ?? uri).join(', ')
})

server.tool('plan_trip', { description: 'Plans a trip' }, async (_, ctx) => {
  const [answer, city] = await Promise.all([
    ctx.elicit('days', 'How many days?', z.object({ days: z.int().min(1) })),
    ctx.sample('city', { prompt: 'Name one city in Europe.', maxTokens: 20 }),
  ])
  return answer.action === 'accept' ? `${answer.content.days} days in ${city.text}` : 'No trip was planned.'
})

server.tool('count_raw', { description: 'Adds a chosen amount to the count', singleUse: true }, async (_, ctx) => {
  const amount = ctx.inputResponse('amount')
  if (!amount) {
    const by = { type: 'integer', minimum: 1, maximum: 100 }
    return ctx.requestInput({ amount: form('Add how much to the count?', { by }) })
  }
  const by = amount.action === 'accept' ? Number(amount.content?.by) : 0
  if (!(by >= 1 && by <= 100)) return 'The count did not change.'
  const sure = ctx.inputResponse('sure')
  if (!sure) return ctx.requestInput({ sure: form(`Add ${by}?`, { sure: { type: 'boolean' } }) })
  if (sure.content?.sure !== true) return 'The count did not change.'
  total = await ctx.once('count', () => total + by)
  return `The count is ${total}.`
})

const form = (message: string, properties: Record<string, JsonSchema>) => ({
  method: 'elicitation/create' as const,
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties, required: Object.keys(properties) } },
})

server.tool('order_tea', { description: 'Orders tea, after asking', singleUse: true }, async (_, ctx) => {
  const price = await ctx.once('price', () => fetchPrice())
  const answer = await ctx.elicit('confirm', `Order tea for ${price} EUR?`, z.object({ sure: z.boolean() }))
  if (!answer.content?.sure) return 'Nothing was ordered.'
  const id = await ctx.once('order', () => placeOrder(price))
  return `Order ${id} costs ${price} EUR.`
})

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
