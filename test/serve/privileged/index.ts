/** A server whose calls take scopes. The token `ada~a~b` is Ada's, with the scopes a and b and the tenant "acme". */
import { createServer, serve } from 'edgemcp'
import { type AuditEvent, audit } from 'edgemcp/audit'
import { bearer } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const server = createServer({ name: 'privileged', version: '1.0.0' })

server.tool('salaries', { description: 'Reports salaries', scopes: ['hr.read'] }, (_, ctx) => {
  ctx.progress(1, 2, 'salary: 1')
  return 'salaries: 1, 2'
})

server.tool('raise', { description: 'Asks, then raises a salary', scopes: ['hr.read', 'hr.write'] }, async (_, ctx) => {
  const { content } = await ctx.elicit('sure', 'Sure?', z.object({ sure: z.boolean() }))
  return `raised: ${content?.sure}`
})

/** Ends the call of `watch` that runs. */
let finish: (() => void) | undefined
server.tool('watch', { description: 'Runs until `finish` is called', scopes: ['hr.read'] }, async (_, ctx) => {
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  ctx.progress(1, 2, 'watching')
  await finished
  return 'watched'
})
server.tool('finish', { description: 'Ends a call of `watch`', scopes: [] }, () => {
  finish?.()
  return 'finished'
})

server.tool(
  'greet',
  { description: 'Greets', inputSchema: z.object({ name: z.string() }), scopes: [] },
  ({ name }, ctx) => {
    ctx.progress(1, 2, `greeting ${name}`)
    return `Hello, ${name}`
  },
)

server.tool(
  'review',
  { description: 'Asks in a task', scopes: ['hr.read', 'hr.write'], task: true },
  async (_, ctx) => (await ctx.elicit('sure', 'Sure?', z.object({ sure: z.boolean() }))).action,
)

server.tool('report', { description: 'A task that takes a scope', scopes: ['hr.read'], task: true }, () => 'reported')
server.tool('count', { description: 'A task that takes none', scopes: [], task: true }, () => 'counted')

const record = server.resource('record://{id}', { description: 'A record', scopes: ['hr.read'] }, ({ id }) => id)
server.tool(
  'touch',
  { description: 'Changes a record', inputSchema: z.object({ id: z.string() }), scopes: [] },
  async ({ id }) => {
    await record.updated({ id })
    await server.notify.toolsChanged()
    return 'touched'
  },
)

/** What the platform logs of each request to a Session object. */
const requests: string[] = []
server.tool('requests', { description: 'Lists requests to Session objects', scopes: [] }, () => requests.join('\n'))

const events: AuditEvent[] = []

const worker = serve(server, {
  auth: bearer({
    verify(token) {
      const [sub, ...scopes] = token.split('~')
      return { iss: 'https://issuer.example', sub, scope: scopes.join(' '), org: 'acme' }
    },
    tenantClaim: 'org',
  }),
  plugins: [sessions(), audit({ sinks: (event) => events.push(event) }), subscriptions(), tasks()],
})
export default {
  fetch(request, env, ctx) {
    const { pathname } = new URL(request.url)
    if (pathname === '/lose') {
      isNextLost = true
      return new Response()
    }
    return pathname === '/audited' ? Response.json(events) : worker.fetch(request, env, ctx)
  },
} satisfies ExportedHandler
export const { McpSubscriptions, McpTask } = worker

/** Whether the next Session object that opens a stream is lost before it does. */
let isNextLost = false

export class McpSession extends worker.McpSession {
  override async fetch(request: Request): Promise<Response> {
    if (isNextLost) {
      isNextLost = false
      this.ctx.abort('lost')
    }
    requests.push(`${request.url} ${JSON.stringify([...request.headers])}`)
    return super.fetch(request)
  }
}
