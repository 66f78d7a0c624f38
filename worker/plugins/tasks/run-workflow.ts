import type { Context } from '../../declarations/context.ts'

export type WorkflowOptions = {
  /** Names it among several of one handler. Default `workflow`. */
  key?: string
}

/** Milliseconds between two looks at it: the first, and the most. Each is longer than the one before. */
const [firstPauseMs, maxPauseMs] = [1000, 60_000]
const growth = 1.3

/**
 * Hands work to a Cloudflare Workflow, and waits for it: in a tool with `task`, without being in memory. It is started once,
 * however often the handler is run, and terminated when the task ends before it.
 *
 * @param binding of the Workflow, from the environment
 * @param params what it gets as its event's payload
 * @returns what it returned
 * @throws Error what it failed with
 *
 * @example
 * server.tool('report', { description: 'Writes a report', task: true, inputSchema: Topic }, async (topic, ctx) => {
 *   const { pages } = await runWorkflow<{ pages: number }>(ctx, env.REPORT, topic)
 *   return `${pages} pages`
 * })
 *
 * @see https://developers.cloudflare.com/workflows/build/workers-api/
 */
export async function runWorkflow<R>(
  ctx: Context,
  binding: Workflow,
  params: unknown,
  { key = 'workflow' }: WorkflowOptions = {},
): Promise<R> {
  const id = await ctx.once(`${key}: id`, () => crypto.randomUUID())
  const instance = await ctx.once(`${key}: begun`, () => begin(binding, id, params)).then(() => binding.get(id))
  const begunAt = await ctx.once(`${key}: began`, () => Date.now())
  // Which look is next follows from the time, so that a handler that is run again after a sleep looks once, and not as often as before.
  for (let look = nextLook(begunAt, 0); ; look = nextLook(begunAt, look.number)) {
    const { status, output, error } = await instance.status()
    // R is what the caller expects of its workflow.
    if (status === 'complete') return output as R
    if (status === 'errored' || status === 'terminated') {
      throw new Error(error?.message ?? `The workflow was ${status}`, { cause: error })
    }
    ctx.progress(look.number, undefined, `The workflow is ${status}`)
    try {
      await ctx.sleepUntil(`${key}: look ${look.number}`, look.at)
    } catch (workflowStatus) {
      // It may have come to its own end in this moment.
      await instance.terminate().catch(() => {})
      throw workflowStatus
    }
  }
}

/**
 * The first look that is still to come.
 *
 * @param begunAt milliseconds: when the first pause began
 * @param last the number of the last look of this run; 0: there was none
 */
function nextLook(begunAt: number, last: number): { number: number; at: number } {
  const now = Date.now()
  let at = begunAt
  for (let number = 1; ; number += 1) {
    at += Math.min(Math.round(firstPauseMs * growth ** (number - 1)), maxPauseMs)
    // A timer may be early.
    if (at > now && number > last) return { number, at }
  }
}

async function begin(binding: Workflow, id: string, params: unknown): Promise<void> {
  try {
    await binding.create({ id, params })
  } catch (problem) {
    // Begun by an earlier run of the handler, which was lost before it could write that down.
    const isThere = await binding.get(id).then(
      () => true,
      () => false,
    )
    if (!isThere) throw problem
  }
}
