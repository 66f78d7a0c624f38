/** Tools whose work a Cloudflare Workflow does. */
import { env, exports, WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { runWorkflow, tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const server = createServer({ name: 'workflows', version: '1.0.0' })

const bindings = env as unknown as { BAKERY: Workflow }
const Order = z.object({ bread: z.string(), rest: z.string().optional() })
type Order = z.infer<typeof Order>

const begun = new Map<string, number>()

export class Bakery extends WorkflowEntrypoint<unknown, Order> {
  override async run({ payload }: Readonly<WorkflowEvent<Order>>, step: WorkflowStep): Promise<{ baked: string }> {
    await step.do('knead', async () => {
      begun.set(payload.bread, (begun.get(payload.bread) ?? 0) + 1)
    })
    await step.sleep('rest', (payload.rest ?? '1 second') as '1 second')
    if (payload.bread === 'burnt') {
      await step.do('bake', { retries: { limit: 0, delay: 1 } }, async () => {
        throw new Error('The oven is too hot')
      })
    }
    return { baked: payload.bread }
  }
}

const ids: string[] = []
const noting = new Proxy(bindings.BAKERY, {
  get(bakery, name) {
    if (name === 'get') return (id: string) => bakery.get(id)
    return (options: { id: string }) => {
      ids.push(options.id)
      return bakery.create(options)
    }
  },
})

server.tool('bake', { description: 'Bakes', task: true, inputSchema: Order }, async (order, ctx) => {
  const { baked } = await runWorkflow<{ baked: string }>(ctx, noting, order)
  return `${baked}, begun ${begun.get(baked)} time`
})

server.tool('status', { description: 'How the last one is' }, async () => {
  const instance = await bindings.BAKERY.get(ids.at(-1) as string)
  return (await instance.status()).status
})

const worker = serve(server, { plugins: [sessions(), tasks()] })

export const { McpSession } = worker

export class McpTask extends worker.McpTask {
  lose(): void {
    this.ctx.abort('lost')
  }
}

type Tasks = { getByName(name: string): { lose(): Promise<void> } }
const exported = exports as unknown as { McpTask: Tasks }

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname !== '/lose') return worker.fetch(request, env, ctx)
    const lost = exported.McpTask.getByName(`task ${searchParams.get('name')}`).lose()
    return new Response(await lost.then(() => 'still there', String))
  },
}
