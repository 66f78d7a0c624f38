/** The server whose users sign in and have API keys, in schedules of its own. */
import { createServer, type Plugin, serve, ToolError } from 'edgemcp'
import { type ApiKeyOwner, apiKeys } from 'edgemcp/api-keys'
import { oneOf } from 'edgemcp/auth'
import { event, events } from 'edgemcp/events'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
import { oauth2, signIn } from 'edgemcp/sign-in'
import { type Store, state } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const server = createServer({ name: 'identity', version: '1' })
server.tool('whoami', { description: 'Returns the user', scopes: ['read'] }, (_, { principal }) =>
  String(principal?.subject),
)
server.tool('mail', { description: 'Returns a token of the provider', scopes: ['read'] }, (_, ctx) =>
  ctx.upstream('company'),
)

/** Writes into a diary outside of the server, which no crash undoes. */
const write = (entry: string) => fetch('https://diary.example/', { method: 'POST', body: entry })

server.tool(
  'limited',
  { description: 'Runs five times in an hour', scopes: ['read'], rateLimit: { quota: '5/h' } },
  async () => {
    await write(`limited ${Math.floor(Date.now() / 3_600_000)}`)
    return 'ran'
  },
)
server.tool(
  'slow',
  { description: 'Runs twice at a time', scopes: ['read'], rateLimit: { concurrent: 2 } },
  async () => {
    await write('slow begins')
    await new Promise((resolve) => setTimeout(resolve, 1500))
    await write('slow ends')
    return 'ran'
  },
)

const record = server.resource('record://{id}', { description: 'A record', scopes: ['secret'] }, ({ id }) => id)
server.tool(
  'touch',
  { description: 'Changes a record', scopes: ['read'], inputSchema: z.object({ id: z.string() }) },
  async ({ id }) => {
    await record.updated({ id })
    return 'touched'
  },
)

const visits = state('visits', { per: 'user', ttl: '1d' }, (store: Store<{ count: number }>) => ({
  add: () => {
    const count = (store.get('count') ?? 0) + 1
    store.put('count', count)
    return count
  },
}))
server.tool('visit', { description: 'Counts visits', scopes: ['read'] }, async (_, ctx) =>
  String(await ctx.state(visits).add()),
)

const saved = event('record.saved', {
  inputSchema: z.object({ topic: z.string() }),
  payloadSchema: z.object({ topic: z.string(), number: z.number() }),
  scopes: ['read'],
  matches: ({ topic }, payload) => payload.topic === topic,
})
const inputSchema = z.object({
  topic: z.string(),
  number: z.number(),
  /** Of those who receive the event. Default: everyone. */
  tenant: z.string().optional(),
  subject: z.string().optional(),
  key: z.string().optional(),
})
server.tool(
  'save',
  { description: 'Publishes an event', scopes: ['read'], inputSchema },
  async ({ tenant, subject, key, ...payload }, { principal }) => {
    const issuer = String(principal?.issuer)
    const users = tenant === undefined ? { everyone: true as const } : { tenant: { issuer, tenant } }
    const recipients = subject === undefined ? users : { user: { issuer, subject, tenant } }
    await saved.publish(payload, recipients, key === undefined ? {} : { key })
    return 'saved'
  },
)

const at = (path: string) => `https://provider.example${path}`
const company = oauth2({
  name: 'company',
  clientId: 'edge',
  clientSecret: 'secret',
  authorizationUrl: at('/authorize'),
  tokenUrl: at('/token'),
  revocationUrl: at('/revoke'),
  user: async (_, get) => ({ id: String(Object(await get(at('/user'))).id) }),
  fetch: (target, init) => fetch(target, init),
})
const users = signIn({ with: company, origin: 'http://localhost' })
const keys = apiKeys({
  prefix: 'sim',
  maxPerOwner: 3,
  /** The directory knows who was revoked. */
  reauthorize: async (principal) => {
    const { status } = await fetch(`https://directory.example/${encodeURIComponent(principal.subject)}`)
    if (status === 200) return principal
    if (status === 404) return undefined
    throw new Error('The directory does not answer')
  },
})

type Params = {
  readonly user: string
  readonly owner: ApiKeyOwner
  readonly id: string
  readonly expiresIn: number
  readonly grace: number
  readonly scopes?: readonly string[]
}

/** What an operator does: the name is the path. */
const acts: Readonly<Record<string, (params: Params) => Promise<unknown>>> = {
  signOut: ({ user }) => users.signOut(user),
  createKey: ({ owner, expiresIn, scopes = ['read'] }) => keys.create(owner, { scopes, expiresIn }),
  rotateKey: ({ owner, id, grace }) => keys.rotate(owner, id, { grace }),
  revokeKey: ({ owner, id }) => keys.revoke(owner, id),
  listKeys: ({ owner }) => keys.list(owner),
}

const operator: Plugin = {
  name: 'operator',
  onSessionEnd: ({ session, reason }) => write(`${session.id} ${reason}`),
  routes: () =>
    Object.entries(acts).map(([name, act]) => ({
      path: `/operator/${name}`,
      methods: ['POST'],
      async handle(request) {
        try {
          return Response.json({ result: await act(await request.json<Params>()) })
        } catch (problem) {
          if (problem instanceof ToolError) return Response.json({ refused: problem.message })
          throw problem
        }
      },
    })),
}

const worker = serve(server, {
  auth: oneOf(users, keys),
  plugins: [sessions(), operator, rateLimit(), subscriptions(), events([saved])],
})
export default worker
export const { McpSession, McpSignIn, McpApiKeys, McpSubscriptions, McpEvents } = worker
export { McpState } from 'edgemcp/state'
