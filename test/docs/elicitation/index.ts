/** What docs/guides/elicitation.md shows besides the counter. */
import { createServer, type JsonSchema, serve } from 'edgemcp'
import { converse } from 'edgemcp/sampling'
import * as z from 'zod'

const server = createServer({ name: 'asking', version: '1.0.0' })
let total = 0
const forecast = (city: string) => (city === 'Oslo' ? 'snow' : 'sun')

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

server.tool('count_raw', { description: 'Counts up, after asking how far', singleUse: true }, async (_, ctx) => {
  const amount = ctx.inputResponse('amount')
  if (!amount) {
    const by = { type: 'integer', minimum: 1, maximum: 100 }
    return ctx.requestInput({ amount: form('Count up by how much?', { by }) })
  }
  const by = amount.action === 'accept' ? Number(amount.content?.by) : 0
  if (!(by >= 1 && by <= 100)) return 'Nothing was counted.'
  const sure = ctx.inputResponse('sure')
  if (!sure) return ctx.requestInput({ sure: form(`Really by ${by}?`, { sure: { type: 'boolean' } }) })
  if (sure.content?.sure !== true) return 'Nothing was counted.'
  total = await ctx.once('count', () => total + by)
  return `The count is ${total}.`
})

const form = (message: string, properties: Record<string, JsonSchema>) => ({
  method: 'elicitation/create' as const,
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties, required: Object.keys(properties) } },
})

const worker = serve(server)
export default worker
export const { McpSession } = worker
