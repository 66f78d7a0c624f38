/** Events and tasks of users who have signed in, and of API keys: what ends with their access. `DEPLOYED` says what a later deployment changes. */
import { env } from 'cloudflare:workers'
import { type Auth, createServer, serve } from 'edgemcp'
import { type ApiKeysOptions, apiKeys } from 'edgemcp/api-keys'
import { forTenant, oneOf } from 'edgemcp/auth'
import { event, events } from 'edgemcp/events'
import { sessions } from 'edgemcp/sessions'
import { github, type SignInOptions, signIn } from 'edgemcp/sign-in'
import { tasks } from 'edgemcp/tasks'
import { withTestClock } from 'edgemcp/testing/timed'
import * as z from 'zod'

const { GITHUB: url, DEPLOYED = '' } = env as unknown as { GITHUB: string; DEPLOYED?: string }

const server = createServer({ name: 'lasting', version: '1.0.0' })
server.tool('confirm', { description: 'Asks, and returns its principal', task: true }, async (_, ctx) => {
  await ctx.elicit('sure', 'Sure?', z.object({}))
  return JSON.stringify(ctx.principal)
})
const payloadSchema = z.object({ id: z.string() })
const saved = event('saved', { payloadSchema })
const written = event('written', { payloadSchema, scopes: ['notes:write'] })
const named = event('named', { payloadSchema, visibleTo: ({ principal }) => principal?.claims.name === 'Ada Lovelace' })
const all = { saved, written, named }

const keyOptions: Readonly<Record<string, ApiKeysOptions>> = {
  strict: { requiredScopes: ['base'] },
  // Without a scope that a key may have, and with one that it may not have.
  tenant: { reauthorize: (principal) => ({ ...principal, scopes: ['notes:read', 'notes:write'] }) },
}
const signInOptions: Readonly<Record<string, Partial<SignInOptions>>> = {
  // All auths know their issuers.
  strict: { origin: 'https://mcp.example.com' },
  // Approvals are not remembered: an end of access is, for little longer than a refresh token lasts.
  forgetting: { rememberConsent: 0 },
}
const keys = apiKeys({ tokenCacheMs: 0, ...keyOptions[DEPLOYED] })
const people = signIn({
  with: github({ clientId: 'edge', clientSecret: 'hush', url }),
  tokenCacheMs: 0,
  accessTokenTtl: '1h',
  refreshTokenTtl: '3h',
  tenant: ({ name }) => /^of (.*)/.exec(name ?? '')?.[1],
  scopes: ['notes:read', 'notes:write'],
  allow: ({ login }) => login !== 'banned',
  grantScopes: ({ login }, approved) =>
    login === 'guest' ? approved.filter((scope) => scope === 'notes:read') : approved,
  enterprise: {
    issuers: [{ name: 'acme', issuer: 'https://acme.example', jwksUri: 'https://acme.example/keys' }],
    clients: [{ clientId: 'desktop', clientSecret: 'a secret', name: 'Desktop' }],
  },
  ...signInOptions[DEPLOYED],
})
/** Accepts every token with its prefix. */
const third: Auth = {
  credentials: [{ prefix: 'third' }],
  issuers: [DEPLOYED === 'strict' ? 'https://new.example' : 'https://old.example'],
  authenticate: async () => ({
    issuer: third.issuers?.[0] ?? '',
    subject: 'ada',
    scopes: [],
    claims: {},
  }),
}
const ofTenant = DEPLOYED === 'tenant' ? forTenant('acme', keys) : keys

const worker = serve(server, {
  auth: oneOf(people, ofTenant, third),
  plugins: [sessions(), tasks(), events(Object.values(all))],
})
const todo = {
  publish: (name: keyof typeof all, id: string) => all[name].publish({ id }, { everyone: true }),
  create: keys.create,
  revoke: keys.revoke,
  rotate: keys.rotate,
  signOut: people.signOut,
}
const timed = withTestClock({
  ...worker,
  default: {
    async fetch(request: Request, environment: unknown, ctx: ExecutionContext): Promise<Response> {
      if (new URL(request.url).pathname !== '/do') return worker.fetch(request, environment, ctx)
      const { name, args } = (await request.json()) as { name: keyof typeof todo; args: unknown[] }
      const act = todo[name] as (...args: unknown[]) => Promise<unknown>
      return Response.json((await act(...args)) ?? null)
    },
  },
})
export default timed.default
export const { McpSession, McpTask, McpEvents, McpSignIn, McpApiKeys } = timed
