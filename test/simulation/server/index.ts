/** The server that schedules run: all of edgemcp that holds state. */
import { createServer, McpError, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { type Store, state } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const server = createServer({ name: 'simulated', version: '1' })
const Work = z.object({
  key: z.string(),
  steps: z.number(),
  pauseMs: z.number(),
  bytes: z.number().default(0),
  /** Steps with pauses and bytes. The others follow at once. */
  pauses: z.number().default(100),
  resultBytes: z.number().default(0),
})
const sleep = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs))

/** Writes into a diary outside of the server, which no crash undoes. Returns how often that was written. */
const write = async (entry: string) =>
  Number(await (await fetch('https://diary.example/', { method: 'POST', body: entry })).text())

type Progress = { progress(done: number, of: number, message: string): void }

async function work({ key, steps, pauseMs, pauses, bytes, resultBytes }: z.infer<typeof Work>, ctx: Progress) {
  const run = await write(key)
  for (let step = 1; step <= steps; step += 1) {
    if (pauseMs > 0 && step <= pauses) await sleep(pauseMs)
    ctx.progress(step, steps, bytes > 0 && step <= pauses ? 'x'.repeat(bytes) : key)
  }
  await write(`end of ${key}`)
  return JSON.stringify({ key, run, ...(resultBytes > 0 && { large: 'x'.repeat(resultBytes) }) })
}
server.tool('count', { description: 'Can be repeated', inputSchema: Work, annotations: { readOnlyHint: true } }, work)
server.tool('pay', { description: 'Must run once', inputSchema: Work }, work)
server.tool(
  'ask',
  { description: 'Asks for a word', inputSchema: Work, annotations: { readOnlyHint: true } },
  async ({ key, steps, pauseMs }, ctx) => {
    await write(key)
    const receipt = await ctx.once('receipt', async () => `${key} ${await write(`receipt of ${key}`)}`)
    ctx.progress(1, steps, key)
    const answer = await ctx.elicit('word', `The word for ${receipt}?`, z.object({ word: z.string() }))
    await sleep(pauseMs)
    await write(`end of ${key}`)
    return JSON.stringify({ key, receipt, word: answer.action === 'accept' ? answer.content.word : answer.action })
  },
)

server.tool(
  'hint',
  { description: 'Asks, and does not wait for long', inputSchema: Work, annotations: { readOnlyHint: true } },
  async ({ key }, ctx) => {
    const answer = await ctx.elicit('hint', `A hint for ${key}?`, z.object({ word: z.string() }), { timeout: '30s' })
    return answer.action
  },
)

server.tool(
  'interview',
  { description: 'Asks everything', inputSchema: Work, annotations: { readOnlyHint: true } },
  async ({ key, pauseMs }, ctx) => {
    await write(key)
    ctx.log('info', key)
    const roots = await ctx.roots()
    ctx.closeStream({ retryMs: 50 })
    await sleep(pauseMs)
    const { text } = await ctx.sample('summary', { prompt: key, maxTokens: 9 }, { task: { ttl: '1h' } })
    const page = await ctx.elicitUrl('page', 'Open the page', `https://pages.example/${key}`)
    ctx.elicitationComplete('page')
    return JSON.stringify({ roots: roots.map(({ uri }) => uri), text, page: page.action })
  },
)
server.tool(
  'hold',
  {
    description: 'Takes minutes, and goes on when it is cancelled',
    inputSchema: Work,
    annotations: { readOnlyHint: true },
  },
  async (_, ctx) => {
    for (let step = 1; step <= 60; step += 1) {
      await sleep(5000)
      ctx.log('info', Date.now())
    }
    return String(Date.now())
  },
)

const visits = state('visits', { per: 'session' }, (store: Store<{ count: number }>) => ({
  add: () => {
    const count = (store.get('count') ?? 0) + 1
    store.put('count', count)
    return count
  },
}))
server.tool('visit', { description: 'Counts visits' }, async (_, ctx) => `${await ctx.state(visits).add()}`)

const tables = ['CREATE TABLE lines (item INTEGER PRIMARY KEY)']
const basket = state('basket', { per: 'handle', ttl: '1d', tables }, (store: Store<{ items: number }>) => {
  const count = () => store.get('items') ?? 0
  const add = () => {
    store.put('items', count() + 1)
    store.sql('INSERT INTO lines VALUES (?)', count())
  }
  return {
    add,
    /** Adds an item, and fails: that is undone. */
    addTooMuch: () => {
      add()
      throw new McpError('invalid_params', 'The basket is full')
    },
    removeAll: () => {
      store.delete('items')
      store.sql('DELETE FROM lines')
    },
    /** Items, by what is stored in both ways. */
    count: () => [
      count(),
      ...store.sql<{ count: number }>('SELECT count(*) AS count FROM lines').map((row) => row.count),
    ],
  }
})
const Basket = z.object({ basket: z.string() })
server.tool('new_basket', { description: 'Creates a basket' }, (_, ctx) => ctx.createHandle(basket))
server.tool('add', { description: 'Adds an item', inputSchema: Basket }, async ({ basket: handle }, ctx) => {
  await ctx.state(basket, handle).add()
  return 'added'
})
server.tool('overfill', { description: 'Fails', inputSchema: Basket }, ({ basket: handle }, ctx) =>
  ctx.state(basket, handle).addTooMuch(),
)
server.tool('clear', { description: 'Removes all items', inputSchema: Basket }, async ({ basket: handle }, ctx) => {
  await ctx.state(basket, handle).removeAll()
  return 'cleared'
})
server.tool('discard', { description: 'Deletes the basket', inputSchema: Basket }, async ({ basket: handle }, ctx) => {
  await ctx.state(basket, handle).deleteAll()
  return 'discarded'
})
server.tool('show', { description: 'Counts the items', inputSchema: Basket }, async ({ basket: handle }, ctx) =>
  JSON.stringify(await ctx.state(basket, handle).count()),
)

server.tool(
  'spend',
  { description: 'Spends once', singleUse: true, inputSchema: z.object({ key: z.string() }) },
  async ({ key }, ctx) => {
    const { action } = await ctx.elicit('sure', 'Spend?', z.object({ word: z.string() }))
    await write(key)
    return action
  },
)

const note = server.resource('note://{id}', { description: 'A note', mimeType: 'text/plain' }, ({ id }) => `Note ${id}`)
server.tool('write', { description: 'Changes a note', inputSchema: z.object({ id: z.string() }) }, async ({ id }) => {
  await note.updated({ id })
  return 'written'
})

server.tool(
  'audience',
  { description: 'Counts subscribers of a note', inputSchema: z.object({ id: z.string() }) },
  async ({ id }) => JSON.stringify(await server.subscribers(`note://${id}`)),
)

const extra = server.tool('extra', { description: 'Can be disabled', enabled: false }, () => 'extra')
server.tool('toggle', { description: 'Enables a tool', inputSchema: z.object({ on: z.boolean() }) }, async ({ on }) => {
  await (on ? extra.enable() : extra.disable())
  return String(on)
})
server.tool(
  'tell',
  { description: 'Logs twice to a session', inputSchema: z.object({ number: z.number() }) },
  async ({ number }, ctx) => {
    const recipients = { session: String(ctx.session?.id) }
    await server.notify.log('warning', number, recipients)
    await server.notify.log('info', number, recipients)
    return 'told'
  },
)

server.tool(
  'report',
  { description: 'Takes long', task: { retries: 2 }, inputSchema: z.object({ key: z.string(), hours: z.number() }) },
  async ({ key, hours }, ctx) => {
    const facts = await ctx.once('facts', async () => {
      await sleep(3000)
      return `${key} ${await write(`facts of ${key}`)}`
    })
    if ((await write(`attempt of ${key}`)) === 1) throw new Error('The first attempt fails')
    const more = ctx.once('more', async () => {
      await sleep(2000)
      return `${await write(`more of ${key}`)}`
    })
    await Promise.all([more, ctx.sleep('pause', hours * 3_600_000)])
    return JSON.stringify({ facts, more: await more })
  },
)

/** The form does not say that a size is odd. */
const Odd = z.object({ size: z.number().refine((size) => size % 2 === 1) })
server.tool(
  'draft',
  {
    description: 'Asks for a size, and is a task if it takes long',
    task: { ttl: '2h', answerWithin: '3s' },
    inputSchema: z.object({ key: z.string(), pauseMs: z.number() }),
  },
  async ({ key, pauseMs }, ctx) => {
    await ctx.once('plan', () => sleep(1000))
    const answer = await ctx.elicit('size', 'Which size?', Odd)
    ctx.progress(1, 2, `${key} is being written`)
    await ctx.once('draft', async () => {
      await sleep(pauseMs)
      await write(`draft of ${key}`)
    })
    return JSON.stringify({ key, size: answer.content?.size })
  },
)

const Survey = z.object({ key: z.string(), hours: z.number() })
const Word = z.object({ word: z.string() })
server.tool(
  'survey',
  { description: 'Asks twice, and sleeps', task: true, inputSchema: Survey },
  async ({ key, hours }, ctx) => {
    const first = await ctx.elicit('first', 'The first word?', Word)
    await ctx.once('effect', () => write(`effect of ${key}`))
    await ctx.sleep('pause', hours * 3_600_000)
    const second = await ctx.elicit('second', 'The second word?', Word)
    const words = [first, second].map((answer) => (answer.action === 'accept' ? answer.content.word : answer.action))
    return JSON.stringify(words)
  },
)

// A day that 24 does not divide into whole milliseconds: see `last-use.ts`.
const worker = serve(server, { plugins: [sessions({ ttl: 86_400_010 }), subscriptions({ shards: 3 }), tasks()] })
export default worker
export const { McpSession, McpSubscriptions, McpTask } = worker
export { McpState } from 'edgemcp/state'
