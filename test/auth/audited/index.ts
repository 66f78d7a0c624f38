/** A server that tells of everything that its audit tells. */
import { env } from 'cloudflare:workers'
import { type Auth, createServer, type Limiter, McpError, policies, serve } from 'edgemcp'
import { type AuditEvent, analyticsEngineSink, audit, consoleSink, type Dataset } from 'edgemcp/audit'
import { bearer } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const { ISSUER, AUDIT } = env as { ISSUER: string; AUDIT: AnalyticsEngineDataset }

const server = createServer({ name: 'audited', version: '1.0.0' })

server.tool('look', { description: 'Takes no scopes', scopes: [] }, () => 'looked')
server.tool('busy', { description: 'Is always busy', scopes: [] }, () => 'done')
server.tool(
  'write',
  {
    description: 'Writes',
    scopes: ['notes:write'],
    listWithoutScopes: true,
    inputSchema: z.object({ text: z.string() }),
  },
  ({ text }) => `wrote ${text}`,
)
server.prompt(
  'secret',
  {
    description: 'Secret',
    scopes: ['prompts'],
    argsSchema: z.object({ name: z.string() }),
    complete: { name: () => ['ada'] },
  },
  ({ name }) => `Whisper to ${name}`,
)
server.resource('open://all', { description: 'For everybody' }, () => 'all')
server.resource(
  'note://{id}',
  { description: 'Notes', scopes: ['notes:read'], list: () => [], complete: { id: () => ['1'] } },
  ({ id }) => `note ${id}`,
)

const busy: Limiter = {
  async check({ messages = [] }) {
    const isBusy = messages.some((message) => 'method' in message && message.params?.name === 'busy')
    return isBusy ? new McpError('too_many_requests', 'Come back later', undefined, { 'Retry-After': '7' }) : undefined
  },
}

const events: AuditEvent[] = []
const points: unknown[] = []
const memory: Dataset = { writeDataPoint: (point) => points.push(point) }

/** It is done when the response has long gone. */
async function slowly(event: AuditEvent): Promise<void> {
  await scheduler.wait(20)
  events.push(event)
}

const audited = audit({
  sinks: [
    () => {
      throw new Error('This sink is broken')
    },
    async () => {
      throw new Error('This sink breaks later')
    },
    consoleSink(),
    analyticsEngineSink(AUDIT),
    analyticsEngineSink(() => undefined),
    analyticsEngineSink(() => memory),
    slowly,
  ],
})
const options = {
  // A slow machine must not turn a JSON response into an event stream.
  limits: { maxBodyBytes: 16_000, maxBatchSize: 100, streamAfterMs: 600_000 },
  ...policies.browser({ origins: ['https://app.example.com'] }),
}

const worker = serve(server, {
  ...options,
  auth: bearer({ issuer: ISSUER, tenantClaim: 'org_id' }),
  plugins: [sessions(), audited, { name: 'busy', provide: () => ({ limiter: busy }) }, subscriptions()],
})

/** Everybody is the same, and scopes are looked at when a message is served. */
const bob: Auth = {
  credentialHeaders: ['X-Key'],
  authenticate: async () => ({ issuer: 'provider', subject: 'bob', scopes: [], claims: {} }),
}
const behind = serve(server, {
  ...options,
  path: '/behind/mcp',
  auth: bob,
  plugins: [audit({ sinks: slowly, address: false }), { name: 'busy', provide: () => ({ limiter: busy }) }],
})

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url)
    if (pathname === '/audited') {
      const told = { events: [...events], points: [...points] }
      if (request.method === 'DELETE') events.length = points.length = 0
      return Response.json(told)
    }
    return (pathname.startsWith('/behind') ? behind : worker).fetch(request, env, ctx)
  },
} satisfies ExportedHandler
export const { McpSession, McpSubscriptions } = worker
