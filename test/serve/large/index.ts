/** A server whose results and notifications are as large as a caller wants. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const server = createServer({ name: 'large', version: '1.0.0' })

server.tool(
  'fill',
  {
    description: 'Returns a text of so many characters, and logs one first',
    inputSchema: z.object({
      log: z.number().default(0),
      result: z.number().default(0),
      padding: z.string().default(''),
    }),
  },
  ({ log, result }, ctx) => {
    if (log > 0) ctx.log('info', 'x'.repeat(log))
    return 'x'.repeat(result)
  },
)

server.tool(
  'ask',
  { description: 'Asks with a text of so many characters', inputSchema: z.object({ text: z.number() }) },
  async ({ text }, ctx) => {
    const { action } = await ctx.elicit('long', 'x'.repeat(text), z.object({ sure: z.boolean() }))
    return action
  },
)

let started = 0
server.tool('count', { description: 'Returns how many calls of "work" have started' }, () => String(started))
server.tool('work', { description: 'Computes, and waits for nothing' }, () => {
  started += 1
  let sum = 0
  for (let index = 0; index < 20_000_000; index += 1) sum += index % 7
  return String(sum)
})

let running = 0
server.tool('overlap', { description: 'Returns how many of its calls run' }, async () => {
  running += 1
  await scheduler.wait(1)
  const overlapping = running
  running -= 1
  return `${overlapping}`
})

server.tool('asked', { description: 'Asks the model, and returns how many of its calls go on' }, async (_, ctx) => {
  await ctx.sample('model', { prompt: 'Go on?', maxTokens: 1 })
  running += 1
  await scheduler.wait(1)
  const overlapping = running
  running -= 1
  return `${overlapping}`
})

const worker = serve(server, { limits: { maxBatchSize: 100 }, plugins: [sessions()] })
export default worker
export const { McpSession } = worker
