/** `runWorkflow()`: runs a Cloudflare Workflow inside of a tool. */
import type { Context } from '../../declarations/context.ts'

/** Configures `runWorkflow()`. */
export type WorkflowOptions = {
  /** Identifies the workflow among those of one call. Default: `workflow`. */
  key?: string
}

/** Milliseconds between two polls: the first pause, and the longest. Each pause is longer than the one before. */
const [firstPauseMs, maxPauseMs] = [1000, 60_000]
const growth = 1.3

/**
 * Runs a Cloudflare Workflow, and waits for its result; in a tool with `task`, without being in memory. It is created once per call,
 * however often the handler runs, and terminated if the task ends first.
 *
 * @param binding the binding of the Workflow
 * @param params the payload of its event
 * @returns the result of the Workflow
 * @throws Error when the Workflow fails or is terminated
 * @see https://developers.cloudflare.com/workflows/build/workers-api/
 *
 * @example
 * server.tool('report', { description: 'Write a report', task: true, inputSchema: Topic }, async (topic, ctx) => {
 *   const { pages } = await runWorkflow<{ pages: number }>(ctx, env.REPORT, topic)
 *   return `${pages} pages`
 * })
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
 * Returns the next poll in the future.
 *
 * @param begunAt milliseconds since 1970: when the first pause began
 * @param last the number of the last poll of this run; 0 before the first
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
