/** Durable Object classes of a Worker, as the declarations of `wrangler types` constrain the exports of the main module. */
import { createServer, serve } from 'edgemcp'
import { type SessionClass, sessions } from 'edgemcp/sessions'
import { type SubscriptionsClass, subscriptions } from 'edgemcp/subscriptions'
import { type TaskClass, tasks } from 'edgemcp/tasks'
import { type Equal, is } from './equal.ts'

const server = createServer({ name: 'types', version: '1' })
const worker = serve(server, { plugins: [sessions(), subscriptions(), tasks()] })

is<Equal<typeof worker.McpSession, SessionClass>>()
is<Equal<typeof worker.McpSubscriptions, SubscriptionsClass>>()
is<Equal<typeof worker.McpTask, TaskClass>>()

is<Equal<LoopbackForExport<SessionClass>, LoopbackDurableObjectClass<InstanceType<SessionClass>>>>()
is<Equal<LoopbackForExport<SubscriptionsClass>, LoopbackDurableObjectClass<InstanceType<SubscriptionsClass>>>>()
is<Equal<LoopbackForExport<TaskClass>, LoopbackDurableObjectClass<InstanceType<TaskClass>>>>()

// A subclass passes its own `Env` on.
export class McpSession extends worker.McpSession {
  // biome-ignore lint/complexity/noUselessConstructor: its types are the test
  constructor(ctx: DurableObjectState, env: { readonly NAME: string }) {
    super(ctx, env)
  }
}
export type Loopback = LoopbackForExport<typeof McpSession>
