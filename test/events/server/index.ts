/** A server whose users subscribe to orders of shops. A token is the JSON of its user. */
import { env } from 'cloudflare:workers'
import { type Auth, createServer, type Principal, serve } from 'edgemcp'
import { type AuditEvent, audit } from 'edgemcp/audit'
import { event, events } from 'edgemcp/events'
import { type MethodEvent, observe } from 'edgemcp/observe'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const server = createServer({ name: 'events', version: '1.0.0' })
server.tool('greet', { description: 'Greets' }, () => 'Hello')
server.resource('note://{id}', { description: 'A note' }, ({ id }) => `Note ${id}`)

const orderPaid = event('order.paid', {
  description: 'An order was paid',
  inputSchema: z.object({ shop: z.string() }),
  payloadSchema: z.object({ shop: z.string(), total: z.number() }),
  matches: ({ shop }, order) => order.shop === shop,
})
const orderAudited = event('order.audited', {
  payloadSchema: z.object({ id: z.string() }),
  scopes: ['audit'],
})
const hidden = event('order.hidden', {
  payloadSchema: z.object({ id: z.string() }),
  scopes: ['secrets'],
  visibleTo: ({ principal }) => principal?.subject === 'root',
})
const odd = event('odd', {
  payloadSchema: z.object({ id: z.string() }),
  // As JavaScript may have it.
  visibleTo: ({ principal }) => {
    if (principal?.subject === 'thrower') throw new Error('visibleTo fails')
    return 'no' as unknown as boolean
  },
})
const undecided = event('undecided', {
  visibleTo: ({ principal }) => principal?.subject === 'uma',
  inputSchema: z.object({ shop: z.string() }),
  payloadSchema: z.object({ shop: z.string(), total: z.number() }),
  // As JavaScript may have it.
  matches({ shop }) {
    if (shop === 'error') throw new Error('matches fails')
    return ({ promise: Promise.resolve(true), 'no value': undefined, text: 'no' } as Record<string, unknown>)[
      shop
    ] as boolean
  },
})
const noteSaved = event('note.saved', {
  visibleTo: ({ principal }) => principal?.subject === 'ann',
  payloadSchema: z.object({ id: z.string() }),
  resource: ({ id }) => `note://${id}`,
})
const all = {
  'order.paid': orderPaid,
  'order.audited': orderAudited,
  'order.hidden': hidden,
  odd,
  undecided,
  'note.saved': noteSaved,
}

const principalOf = (text: string): Principal | undefined => {
  const given = JSON.parse(text)
  return { issuer: 'https://idp.example', scopes: [], claims: {}, ...given }
}

const {
  PLAIN,
  MAX_WAITING,
  TIMEOUT = '2s',
  LOG_AGE = '1h',
} = env as {
  PLAIN?: string
  MAX_WAITING?: string
  TIMEOUT?: '500ms' | '1s' | '2s' | '10s'
  LOG_AGE?: '1m' | '1h' | 'none'
}
const auth: Auth = {
  allowAnonymous: true,
  authenticate: async ({ headers }) => {
    const token = headers.get('Authorization')?.slice('Bearer '.length)
    return token === undefined ? undefined : principalOf(token)
  },
  // The identity provider knows who is revoked, and who has which scopes.
  ...(PLAIN === undefined && {
    reauthorize: async (principal: Principal) => {
      const response = await fetch(`https://idp.example/${principal.subject}`)
      if (response.status === 404) return undefined
      return { ...principal, scopes: (await response.json()) as string[] }
    },
  }),
}

/** What `observe()` and `audit()` recorded, since it was read. */
const [observed, audited]: [MethodEvent[], AuditEvent[]] = [[], []]

const worker = serve(server, {
  auth,
  plugins: [
    sessions(),
    subscriptions(),
    events(Object.values(all), {
      timeout: TIMEOUT,
      maxSubscriptions: 5,
      log: LOG_AGE === 'none' ? false : { maxAge: LOG_AGE },
      ...(MAX_WAITING !== undefined && { maxWaiting: Number(MAX_WAITING) }),
    }),
    observe({ sinks: (event) => void observed.push(event) }),
    audit({ sinks: (event) => void audited.push(event) }),
  ],
})

export const { McpSession, McpEvents, McpSubscriptions } = worker
export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/recorded') return Response.json({ observed: observed.splice(0), audited: audited.splice(0) })
    if (!['/publish', '/dead-letters', '/redeliver'].includes(pathname)) return worker.fetch(request, env, ctx)
    const { name, payload, recipients, options, ids } = (await request.json()) as {
      name: keyof typeof all
      payload: never
      recipients: never
      options: object
      ids?: string[]
    }
    try {
      if (pathname === '/dead-letters') return Response.json(await all[name].deadLetters(recipients))
      if (pathname === '/redeliver') return Response.json(await all[name].redeliver(recipients, ids))
      return Response.json(await all[name].publish(payload, recipients, options))
    } catch (problem) {
      return Response.json({ problem: String(problem) }, { status: 400 })
    }
  },
}
