/** A server that counts what it is asked to do: nothing of it for a message that exceeds a bound. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const server = createServer({ name: 'bounded', version: '1.0.0', pageSize: 2 })
const counts: Record<string, number> = {}
const count = (what: string) => {
  counts[what] = (counts[what] ?? 0) + 1
}

server.tool('counts', { description: 'Says what was counted' }, () => JSON.stringify(counts))
server.tool('ask', { description: 'Asks for a name' }, async (_, ctx) => {
  count('handler')
  const answer = await ctx.elicit('name', 'Name?', z.object({ name: z.string() }))
  return answer.action
})
server.tool('folders', { description: 'Asks for folders' }, async (_, ctx) => {
  const folders = await ctx.roots('folders')
  return `${folders.length}`
})
server.prompt(
  'greet',
  { description: 'Greets', argsSchema: z.object({ who: z.string() }), complete: { who: completeAnything } },
  () => {
    count('handler')
    return 'hello'
  },
)
function completeAnything() {
  count('completer')
  return Array.from({ length: 200 }, (_, index) => `${index}`)
}
const resource = server.resource(
  'note://{id}',
  {
    description: 'Notes',
    authorize() {
      count('readable')
      return true
    },
    complete: { id: completeAnything },
  },
  ({ id }) => {
    count('handler')
    return `note ${id}`
  },
)
server.tool(
  'update',
  { description: 'Says that a note changed', inputSchema: z.object({ id: z.string() }) },
  async ({ id }) => {
    await resource.updated({ id })
  },
)

for (const { template } of server.declarations.templates.values()) {
  if (!template) continue
  const { match } = template
  template.match = (uri) => {
    count('match')
    return match(uri)
  }
}

const worker = serve(server, {
  // A slow machine must not turn a JSON response into an event stream.
  limits: { streamAfterMs: 600_000 },
  auth: {
    allowAnonymous: true,
    async authenticate() {
      return undefined
    },
    async authorize({ messages = [] }) {
      // What `initialize` comes to is measured once it is sealed.
      const isHandshake = JSON.stringify(messages).includes('"initialize"')
      if (JSON.stringify(messages).length > 200 && !isHandshake) count('authorization')
      return undefined
    },
  },
  plugins: [sessions(), subscriptions()],
})
export default worker
export const { McpSession, McpSubscriptions } = worker
