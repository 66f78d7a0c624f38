/**
 * Tools that take as long as they are told, and say which process ran them. Each run is first written into a diary that
 * outlives the process; what is run again does not take long.
 */
import { type Context, createServer, type Server } from 'edgemcp'
import * as z from 'zod'

const Work = z.object({
  key: z.string(),
  /** Events to send. */
  steps: z.number(),
  /** Milliseconds between two of them. */
  pause: z.number(),
  /** Milliseconds after the last of them. */
  hold: z.number().default(0),
  /** A URL: gets the key of each run that begins, and answers with the number of runs of that key. */
  diary: z.url(),
})
type Work = z.infer<typeof Work>

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

let name: string | undefined
/** The name of this process. It is made late: no randomness is to be had while a Worker is loaded. */
function runner(): string {
  name ??= crypto.randomUUID().slice(0, 8)
  return name
}

/** @param version what the tools say of themselves */
export function workServer(version: string): Server {
  const server = createServer({ name: 'chaos', version })

  async function work({ key, steps, pause, hold, diary }: Work, ctx: Context) {
    ctx.progress(1, steps, runner())
    const run = await begun(diary, key)
    for (let step = 2; step <= steps; step++) {
      if (run === 1) await sleep(pause)
      ctx.progress(step, steps, runner())
    }
    if (run === 1) await sleep(hold)
    return JSON.stringify({ key, run, version, runner: runner() })
  }

  /** Works, asks, and works again: the second half is run from the top, as every handler is. */
  async function ask({ key, steps, pause, diary }: Work, ctx: Context) {
    ctx.progress(1, 2 * steps, runner())
    const run = await begun(diary, key)
    for (let step = 2; step <= steps; step++) {
      if (run === 1) await sleep(pause)
      ctx.progress(step, 2 * steps, runner())
    }
    const receipt = await ctx.once('receipt', () => crypto.randomUUID())
    const answer = await ctx.elicit('word', `The word for ${receipt}?`, z.object({ word: z.string() }))
    for (let step = steps + 1; step <= 2 * steps; step++) {
      if (run <= 2) await sleep(pause)
      ctx.progress(step, 2 * steps, runner())
    }
    const word = answer.action === 'accept' ? answer.content.word : answer.action
    return JSON.stringify({ key, run, version, runner: runner(), receipt, word })
  }

  const safe = { readOnlyHint: true }
  server.tool('count', { description: 'Only reads', inputSchema: Work, annotations: safe }, work)
  server.tool('put', { description: 'Is idempotent', inputSchema: Work, annotations: { idempotentHint: true } }, work)
  server.tool('pay', { description: 'Is to be done once', inputSchema: Work }, work)
  server.tool('ask', { description: 'Asks, and is to be done once', inputSchema: Work }, ask)
  server.tool('ask_safely', { description: 'Asks, and only reads', inputSchema: Work, annotations: safe }, ask)
  server.tool('version', { description: 'Says which code this is' }, () => version)
  server.tool('announce', { description: 'Says that there are other tools now' }, async () => {
    await server.notify.toolsChanged()
    return 'announced'
  })
  return server
}

async function begun(diary: string, key: string): Promise<number> {
  const response = await fetch(diary, { method: 'POST', body: key })
  return Number(await response.text())
}
