/** Tasks of signed-in callers. A token is the base64 of its claims; with the variable HOOK, `reauthorize` decides before each run. */
import { env } from 'cloudflare:workers'
import { type Auth, type Caller, createServer, serve } from 'edgemcp'
import { bearer, oneOf } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const server = createServer({ name: 'principals', version: '1.0.0' })

const counts = new Map<string, number>()
const count = (key: string): number => {
  counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts.get(key) as number
}
/** Subjects that `reauthorize` refuses from now on, and those for whom it fails. */
const refused = new Set<string>()
const unreachable = new Set<string>()

server.resource('note://1', { name: 'note', description: 'A note' }, () => 'text')

server.tool('who', { description: 'Returns its principal', task: true }, (_, { principal }) =>
  JSON.stringify({ subject: principal?.subject, scopes: principal?.scopes, claims: principal?.claims }),
)

server.tool(
  'confirm',
  {
    description: 'Asks, then does something, and returns its principal',
    task: true,
    inputSchema: z.object({ key: z.string() }),
  },
  async ({ key }, ctx) => {
    await ctx.elicit('sure', 'Sure?', z.object({}))
    await ctx.once('effect', () => count(key))
    return JSON.stringify(ctx.principal)
  },
)

server.tool(
  'pro',
  { description: 'Only for one plan', task: true, visibleTo: ({ principal }) => principal?.claims.plan === 'pro' },
  () => 'done',
)

/** Two schemas of one tool. The handler receives a date. */
const day = z.iso.date().transform((text) => new Date(text))
const small = z.object({ amount: z.number().max(10), from: day.optional() })
const large = z.object({ amount: z.number(), from: day.optional() })
const spent = ({ amount, from }: z.output<typeof large>) =>
  `spent ${amount}${from ? ` from ${from.getUTCFullYear()}` : ''}`
const spending = { description: 'Spends an amount', task: { retries: 1, pollInterval: '100ms' as const } }

const forPro = ({ principal }: Caller) => (principal?.claims.plan === 'pro' ? large : small)

server.tool('spend', { ...spending, inputSchema: ({ principal }) => (principal?.claims.trial ? small : large) }, spent)
server.tool('grant', { ...spending, inputSchema: forPro }, spent)
server.tool('confirm_grant', { ...spending, inputSchema: forPro }, async (input, ctx) => {
  await ctx.elicit('sure', 'Sure?', z.object({}))
  if (count(`${ctx.principal?.subject} spends`) === 1) throw new Error('Fails once')
  return spent(input)
})
server.tool(
  'limited',
  { ...spending, inputSchema: ({ request }) => (request?.url.endsWith('?limited') ? small : large) },
  spent,
)
server.tool('clamped', { ...spending, inputSchema: large }, spent)
server.intercept((call, next) => {
  if (call.method !== 'tools/call' || call.params.name !== 'clamped' || !call.principal?.claims.trial) return next()
  return next({ ...call.params, arguments: { amount: 10 } })
})

server.tool('salaries', { description: 'Takes a scope', scopes: ['hr:read'], task: true }, () => '1, 2, 3')

server.tool(
  'raise',
  { description: 'Takes a scope, and asks', scopes: ['hr:read'], task: true },
  async (_, ctx) => (await ctx.elicit('sure', 'Sure?', z.object({}))).action,
)

server.tool(
  'refuse',
  { description: 'Lets reauthorize refuse a subject', inputSchema: z.object({ subject: z.string() }) },
  ({ subject }) => {
    refused.add(subject)
  },
)
server.tool(
  'disturb',
  {
    description: 'Lets reauthorize fail for a subject, or not',
    inputSchema: z.object({ subject: z.string(), fails: z.boolean() }),
  },
  ({ subject, fails }) => void (fails ? unreachable.add(subject) : unreachable.delete(subject)),
)
server.tool('counted', { description: 'Returns a count', inputSchema: z.object({ key: z.string() }) }, ({ key }) =>
  String(counts.get(key) ?? 0),
)

const auth = bearer({
  verify: (token) => JSON.parse(atob(token)),
  storedClaims: ['email'],
  ...((env as { HOOK?: string }).HOOK && {
    async reauthorize(principal, { params }) {
      if (unreachable.has(principal.subject)) throw new Error('The directory does not answer')
      if (refused.has(principal.subject)) return undefined
      if (principal.subject === 'changeling') return { ...principal, subject: 'somebody else' }
      return { ...principal, claims: { ...principal.claims, fresh: true, tool: params?.name } }
    },
  }),
})

/** Keys that are subjects. Their claims are those of a professional. */
const keys: Auth = {
  credentials: [{ prefix: 'key_' }],
  issuers: ['keys'],
  storedClaims: ['city'],
  async authenticate(request) {
    const [, subject = ''] = /key_(\w+)$/.exec(request.headers.get('Authorization') ?? '') ?? []
    return { issuer: 'keys', subject, scopes: [], claims: { plan: 'pro', city: 'Turin', email: 'ada@example.com' } }
  },
}

const worker = serve(server, { auth: oneOf(auth, keys), plugins: [sessions(), subscriptions(), tasks()] })
export default worker
export const { McpSession, McpSubscriptions, McpTask } = worker
