/** A server whose calls follow a script, so that a test decides what is said, and when. */
import { type Context, createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const server = createServer({ name: 'replay', version: '1.0.0' })

const script = z.object({
  /** In front of everything that is said: no other call has the same. */
  name: z.string(),
  steps: z.array(z.enum(['report', 'log', 'ask', 'ask together', 'wait', 'leave'])),
})

/** How often each call was let go on, and those that wait for it. The isolate remembers when an object is lost. */
const released = new Map<string, number>()
const waiting = new Map<string, () => void>()

async function act({ name, steps }: z.infer<typeof script>, ctx: Context): Promise<string> {
  let waits = 0
  const ask = (key: string) => ctx.elicit(key, `${name} ${key}`, z.object({ word: z.string() }))
  for (const [index, step] of steps.entries()) {
    if (step === 'report') ctx.progress(index, steps.length, `${name} ${index}`)
    if (step === 'log') ctx.log('info', `${name} ${index}`)
    if (step === 'ask') await ask(`${index}`)
    if (step === 'ask together') await Promise.all([ask(`${index}a`), ask(`${index}b`)])
    if (step === 'leave') ctx.closeStream({ retryMs: 10 })
    if (step === 'wait') {
      waits += 1
      if ((released.get(name) ?? 0) < waits) await new Promise<void>((resolve) => waiting.set(name, resolve))
    }
  }
  return `${name} is done`
}

server.tool('act', { description: 'Follows a script', inputSchema: script }, act)

server.tool(
  'act_again',
  {
    description: 'Follows a script, if need be from the top',
    inputSchema: script,
    annotations: { idempotentHint: true },
  },
  act,
)

server.tool(
  'release',
  { description: 'Lets a call go on that waits', inputSchema: z.object({ name: z.string() }) },
  ({ name }) => {
    released.set(name, (released.get(name) ?? 0) + 1)
    waiting.get(name)?.()
    return 'released'
  },
)

server.tool('change', { description: 'Changes a note', inputSchema: z.object({ id: z.string() }) }, async ({ id }) => {
  await note.updated({ id })
  return 'changed'
})

const note = server.resource('note://{id}', { name: 'note', description: 'A note' }, ({ id }) => `note ${id}`)

const worker = serve(server, { limits: { keepAliveMs: 100 }, plugins: [sessions(), subscriptions()] })
export default worker
export const { McpSubscriptions } = worker

let dials = 0

/** Far away: until somebody listens, something may have been said. */
export class McpSession extends worker.McpSession {
  override async fetch(request: Request): Promise<Response> {
    dials += 1
    await scheduler.wait((dials % 3) * 20)
    // Nobody waits for it any more.
    if (request.signal.aborted) return new Response(null, { status: 499 })
    return super.fetch(request)
  }
}
