/** A server whose users sign in: with one of two providers, or as `CASE` says. */
import { env } from 'cloudflare:workers'
import { createServer, type Plugin, serve } from 'edgemcp'
import { forTenant } from 'edgemcp/auth'
import { proxy } from 'edgemcp/compose'
import { jsonSchema } from 'edgemcp/json-schema'
import { openApiTools, parseOpenApi } from 'edgemcp/openapi'
import { sessions } from 'edgemcp/sessions'
import { github, oauth2, oidc, type SignedInUser, type SignInOptions, signIn } from 'edgemcp/sign-in'
import { abandon } from '../../auth/abandon.ts'
import { putForward } from '../../support/counted/clock.ts'

const vars = env as unknown as Record<'CASE' | 'GITHUB' | 'WORK' | 'OPENID' | 'ORIGIN', string> & {
  PAGE?: string
  FAR?: string
  SELF: Fetcher
}

const server = createServer({ name: 'notes', title: 'Notes', version: '1.0.0', jsonSchema })
server.tool('whoami', { description: 'Returns the principal', scopes: ['notes:read'] }, (_, { principal }) =>
  JSON.stringify(principal),
)
server.tool('write', { description: 'Writes a note', scopes: ['notes:write'] }, () => 'written')

server.tool('starred', { description: 'Returns the token for GitHub', scopes: [] }, async (_, ctx) =>
  ctx.upstream('github'),
)
server.tool('gist', { description: 'Returns a token with other scopes', scopes: [] }, async (_, ctx) =>
  ctx.upstream('github', { scopes: ['gist'] }),
)
server.tool('push', { description: 'Returns a token with more scopes', scopes: [] }, async (_, ctx) =>
  ctx.upstream('github', { scopes: ['repo'] }),
)

server.tool('other', { description: 'Returns the token for another provider', scopes: [] }, async (_, ctx) =>
  ctx.upstream('work'),
)
server.tool('renewOther', { description: 'Says that its API rejected the token', scopes: [] }, async (_, ctx) =>
  ctx.upstream('work', { rejected: await ctx.upstream('work') }),
)
server.tool('renew', { description: 'Says that the API rejected the token', scopes: [] }, async (_, ctx) =>
  ctx.upstream('github', { rejected: await ctx.upstream('github') }),
)
server.tool('emails', { description: 'Returns a token for addresses', scopes: [] }, async (_, ctx) =>
  ctx.upstream('github', { scopes: ['user:email'] }),
)
server.tool('clone', { description: 'Returns a token for public repositories', scopes: [] }, async (_, ctx) =>
  ctx.upstream('github', { scopes: ['public_repo'] }),
)
server.tool(
  'runners',
  { description: 'Requests a scope that the provider does not list', scopes: [] },
  async (_, ctx) => ctx.upstream('github', { scopes: ['manage_runners:org'] }),
)

const client = { clientId: 'edge', clientSecret: 'hush' }
const gitHub = github({ ...client, url: vars.GITHUB, additionalScopes: ['repo', 'gist'] })

/** Asks the service that an option depends on. @throws Error while it does not answer */
async function lookUp(option: string): Promise<void> {
  const { ok } = await fetch(`https://members.example/${option}`)
  if (!ok) throw new Error('The list of members cannot be read')
}

const cases: Readonly<Record<string, SignInOptions>> = {
  choice: {
    with: [gitHub, github({ ...client, url: vars.WORK, name: 'work', title: 'GitHub at work' })],
    requiredScopes: ['notes:read'],
    scopes: { 'notes:write': 'Change & delete your notes' },
    allow({ login }) {
      if (login === 'mallory') return 'Mallory may not sign in.'
      // As a lookup without a row returns it.
      if (login === 'nobody') return undefined as never
      return login !== 'trudy'
    },
  },
  single: {
    with: gitHub,
    grantScopes: ({ login }, approved) => {
      if (login === 'broken') throw new Error('The table of scopes cannot be read')
      return login === 'guest' ? approved.filter((scope) => scope === 'notes:read') : approved
    },
  },
  connecting: {
    with: gitHub,
    upstreams: [
      oauth2({
        ...client,
        name: 'work',
        title: 'Work',
        authorizationUrl: `${vars.WORK}/login/oauth/authorize`,
        tokenUrl: `${vars.WORK}/login/oauth/access_token`,
        revocationUrl: `${vars.WORK}/revoke`,
        user: async (_, get) => ({ id: String(Object(await get(`${vars.WORK}/api/v3/user`)).id) }),
      }),
    ],
  },
  proxied: { with: gitHub, origin: vars.ORIGIN },
  ofTenant: {
    with: oidc({ ...client, name: 'github', issuer: vars.GITHUB, title: 'GitHub', tenantClaim: 'org_id' }),
    origin: vars.ORIGIN,
  },
  revocable: {
    with: oauth2({
      ...client,
      name: 'github',
      title: 'GitHub',
      authorizationUrl: `${vars.GITHUB}/login/oauth/authorize`,
      tokenUrl: `${vars.GITHUB}/login/oauth/access_token`,
      revocationUrl: `${vars.GITHUB}/revoke`,
      user: async (_, get) => {
        const { id, login, ...profile } = (await get(`${vars.GITHUB}/api/v3/user`)) as { id: number; login: string }
        return { ...profile, id, login }
      },
    }),
  },
  uncached: { with: gitHub, tokenCacheMs: 0 },
  asking: { with: gitHub, rememberConsent: 0 },
  banning: {
    with: gitHub,
    tokenCacheMs: 0,
    async allow({ provider, id, login, name }) {
      if (login === 'ada') return true
      // The tests name the origin of the server so.
      await auth.signOut({ issuer: String(name), subject: `${provider}.${id}` })
      return login === 'unlucky' || 'You are banned.'
    },
  },
  engines: {
    with: github({ ...client, url: vars.GITHUB, organizations: ['engines', 'looms', 'guests'] }),
    tenant: async ({ groups = [] }) => groups.filter((group) => group !== 'guests'),
    requireTenant: true,
    grantScopes: (_, approved, tenant) =>
      tenant === 'looms' ? approved.filter((scope) => scope === 'notes:read') : approved,
  },
  enterprise: {
    with: gitHub,
    async allow({ id }) {
      if (id === 'hopper') await lookUp('allow')
      return id === 'mallory' ? 'Mallory may not.' : id !== 'nobody'
    },
    async tenant({ id, tenant }) {
      if (id === 'hopper') await lookUp('tenant')
      return id === 'both' ? ['acme', 'globex'] : tenant
    },
    async grantScopes({ id, provider, email, groups = [] }, approved) {
      if (id === 'hopper') await lookUp('grantScopes')
      return groups.includes('readers') || (provider === 'globex' && email !== 'ada@globex.example')
        ? approved.filter((scope) => scope === 'notes:read')
        : approved
    },
    enterprise: {
      issuers: [
        { name: 'initech', issuer: 'https://initech.example' },
        { name: 'hooli', issuer: 'https://hooli.example', jwksUri: 'https://hooli.example/keys' },
        { name: 'umbrella', issuer: 'https://umbrella.example' },
        {
          name: 'acme',
          issuer: 'https://acme.example',
          tenant: 'acme',
          emailDomains: ['acme.example'],
          algorithms: ['RS256', 'ES256'],
        },
        {
          name: 'globex',
          issuer: 'https://globex.example',
          jwksUri: 'https://globex.example/keys',
          algorithms: ['ES256'],
          tenantClaim: 'org_id',
          tenants: ['east', 'west'],
          emailDomains: ['globex.example'],
        },
      ],
      clients: [{ clientId: 'desktop', clientSecret: 'a secret', name: 'Desktop' }],
    },
  },
  openid: {
    with: oidc({ ...client, issuer: vars.OPENID, title: 'Company', tenantClaim: 'org_id', tenants: ['engines'] }),
  },
  looking: {
    with: oidc({ ...client, issuer: vars.GITHUB, title: 'Company', tenantClaim: 'org_id' }),
    tenant: async ({ tenant }) => {
      await fetch(`${vars.GITHUB}/tenant`)
      return tenant
    },
  },
  both: {
    with: [
      github({ ...client, url: vars.GITHUB, organizations: ['engines'] }),
      oidc({ ...client, issuer: vars.GITHUB, title: 'Company', tenantClaim: 'org_id', tenants: ['looms'] }),
    ],
  },
}

server.use(
  openApiTools(
    parseOpenApi({
      openapi: '3.1.0',
      paths: { '/user': { get: { operationId: 'user' } }, '/user/repos': { post: { operationId: 'makeRepository' } } },
    }),
    { baseUrl: `${vars.GITHUB}/api/v3`, upstream: 'github', scopes: [] },
  ),
)

if (vars.FAR !== undefined) server.use(proxy(vars.FAR, { prefix: 'far_', upstream: 'github', scopes: [] }))

const auth = signIn(cases[vars.CASE] as SignInOptions)
const ofTenant = vars.CASE === 'ofTenant' && forTenant('acme', auth, { allowMissingClaim: true })

/** Writes of grants that fail, one after the other, and removals from the lists of users. */
const failing = { failWrites: 0, failRemovals: 0 }

/**
 * What an operator does: `POST /operator?do=signOut`, with a user as JSON. `advance` advances the clock, by milliseconds. `failWrites` lets
 * writes of grants fail, as many as it says; `failRemovals` removals from the lists of users.
 */
const operator: Plugin = {
  name: 'operator',
  routes: () => [
    {
      path: '/operator',
      methods: ['POST'],
      async handle(request) {
        const user = (await request.json()) as SignedInUser
        const todo = new URL(request.url).searchParams.get('do')
        if (todo === 'advance') return Response.json(putForward(Number(user)) ?? null)
        if (todo === 'failWrites' || todo === 'failRemovals') {
          failing[todo] = Number(user)
          return Response.json(null)
        }
        const done = todo === 'signOut' ? auth.signOut(user) : auth.grants(user)
        return Response.json(await done.catch(({ message }: Error) => ({ message })))
      },
    },
    {
      // A client that gives up a token request once a page has answered.
      path: '/abandoned',
      methods: ['POST'],
      handle: (request) =>
        abandon(vars.SELF, new Request(new URL('/oauth/token', request.url), request), 'https://members.example/gone'),
    },
  ],
}

const worker = serve(server, {
  auth: ofTenant || auth,
  plugins: [sessions(), operator],
  ...(vars.PAGE !== undefined && { origins: [vars.PAGE] }),
})

export const { McpSession } = worker
export class McpSignIn extends worker.McpSignIn {
  override async write(...args: Parameters<InstanceType<typeof worker.McpSignIn>['write']>) {
    if (args[0].startsWith('grant:') && failing.failWrites-- > 0) throw new Error('The storage does not answer')
    return super.write(...args)
  }

  override async remove(key: string) {
    const isList = this.ctx.id.name?.includes('"user:')
    if (isList && failing.failRemovals-- > 0) throw new Error('The storage does not answer')
    return super.remove(key)
  }
}
export default worker
