/** A server whose plugin adds a member to `ctx`. */
import { createServer, type Plugin, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

declare module 'edgemcp' {
  interface PluginContext {
    /** Asks the user a question whose answer is yes or no. */
    confirm(key: string, question: string): Promise<boolean>
  }
}

const confirming: Plugin = {
  name: 'confirming',
  context: () => ({
    confirm: (ctx) => async (key, question) => {
      const schema = z.object({ yes: z.boolean() })
      const answer = await ctx.elicit(key, question, schema)
      return answer.action === 'accept' && answer.content.yes
    },
  }),
}

/** Names the endpoint in log messages. */
const naming: Plugin = {
  name: 'naming',
  context: ({ identity }) => ({
    log:
      ({ log }) =>
      (level, data) =>
        log(level, data, identity),
  }),
}

const server = createServer({ name: 'confirmed', version: '1.0.0' })
server.tool('delete', { description: 'Deletes everything' }, async (_, { confirm, ...ctx }) => {
  const isConfirmed = await confirm('sure', 'Delete everything?')
  ctx.log('info', isConfirmed)
  return isConfirmed ? 'deleted' : 'kept'
})

const worker = serve(server, { plugins: [sessions(), confirming, naming] })
export default worker
export const { McpSession } = worker
