/** A server whose objects can be made to hold what a newer release has stored. */

import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'
import type { SessionRpc } from '../../../durable-objects/session/rpc.ts'

const server = createServer({ name: 'rollback', version: '1.0.0' })

server.tool('echo', { description: 'Echoes', inputSchema: z.object({ text: z.string() }) }, ({ text }) => text)
server.tool('wait', { description: 'Waits', task: true }, async (_, ctx) => {
  await ctx.sleep('long', '1h')
  return 'waited'
})

const worker = serve(server, { plugins: [sessions(), subscriptions(), tasks()] })
export default worker
export const { McpSubscriptions } = worker

async function pretend({ storage, abort }: { storage: DurableObjectStorage; abort(): void }): Promise<never> {
  storage.kv.put('schema', 99)
  await storage.sync()
  abort()
  throw new Error('The object is restarted')
}

/** Its client makes it one of a newer release by cancelling a request with the id "newer". */
export class McpSession extends worker.McpSession {
  override post(...post: Parameters<SessionRpc['post']>) {
    const isSign = post[0].includes('"requestId":"newer"')
    return isSign ? pretend({ storage: this.ctx.storage, abort: () => this.ctx.abort() }) : super.post(...post)
  }
}

/** Its client makes it one of a newer release by cancelling it. */
export class McpTask extends worker.McpTask {
  override cancel() {
    return pretend({ storage: this.ctx.storage, abort: () => this.ctx.abort() })
  }
}
