/** A task that tells a diary outside of each of its effects, twice: in the midst of it, and when its result is kept. */
import { exports } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { type TaskClass, tasks } from 'edgemcp/tasks'
import * as z from 'zod'
import type { Told } from './told.ts'

const Steps = z.object({ id: z.string(), steps: z.number(), diary: z.string() })

/** @param version tells which code an effect was done by */
export function stepsWorker(version: string) {
  const server = createServer({ name: 'steps', version })
  server.tool(
    'steps',
    { description: 'Writes each step into a diary', task: { ttl: '1h' }, inputSchema: Steps },
    async ({ id, steps, diary }, ctx) => {
      const run = crypto.randomUUID()
      const tell = async (told: Omit<Told, 'id' | 'run' | 'version'>) => {
        await fetch(diary, { method: 'POST', body: JSON.stringify({ id, run, version, ...told }) })
      }
      for (let step = 1; step <= steps; step += 1) {
        let isNew = false
        await ctx.once(`step ${step}`, async () => {
          isNew = true
          await tell({ step, kept: false })
        })
        // Nothing leaves an object before what it has written is on disk.
        if (isNew) await tell({ step, kept: true })
        ctx.progress(step, steps)
      }
      return `${steps} steps`
    },
  )
  const worker = serve(server, { plugins: [tasks()] })
  const { McpSession, McpTask } = worker
  return { worker, McpSession, McpTask: losable(McpTask) }
}

function losable(Base: TaskClass) {
  return class McpTask extends Base {
    /** Loses its object, whatever it does. */
    lose(): void {
      this.ctx.abort('The object was evicted')
    }
  }
}

type Stub = { lose(): Promise<void> }
const exported = exports as unknown as { McpTask: { getByName(name: string): Stub } }

/** The Worker, which loses the object of a task at `/lose`. */
export const withLosses = (worker: ReturnType<typeof serve>) => ({
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname !== '/lose') return worker.fetch(request, env, ctx)
    // Whoever calls it is told that it broke off.
    const lost = await exported.McpTask.getByName(`task ${searchParams.get('name')}`)
      .lose()
      .then(
        () => false,
        () => true,
      )
    return Response.json({ lost })
  },
})
