/** Endpoints that accept several kinds of credentials. */
import { env } from 'cloudflare:workers'
import { type Auth, createServer, McpError, serve } from 'edgemcp'
import { audit } from 'edgemcp/audit'
import { bearer, forTenant, oneOf } from 'edgemcp/auth'
import { combine } from 'edgemcp/compose'
import { github, signIn } from 'edgemcp/sign-in'

const { ISSUER, OTHER } = env as unknown as { ISSUER: string; OTHER: string }

const server = createServer({ name: 'combined', version: '1.0.0' })
server.tool('who', { description: 'Who asks', scopes: [] }, (_, { principal, request }) =>
  JSON.stringify([
    principal?.issuer ?? null,
    principal?.subject ?? null,
    principal?.tenant ?? null,
    request?.headers.has('X-API-Key') || request?.headers.has('Authorization'),
  ]),
)
server.tool('read', { description: 'Reads', scopes: ['notes:read'] }, () => 'read')
server.tool('starred', { description: 'Asks GitHub', scopes: [] }, async (_, ctx) => ctx.upstream('github'))

/** Keys in a header, as a developer would verify them. */
const keys: Auth = {
  credentials: [{ header: 'X-API-Key' }],
  issuers: ['keys'],
  async authenticate(request) {
    const key = request.headers.get('X-API-Key')
    const scopes = key === 'reader-key' ? ['notes:read'] : []
    if (key === 'reader-key' || key === 'plain-key') return { issuer: 'keys', subject: 'ada', scopes, claims: {} }
    throw new McpError('unauthorized', 'Send a valid key in the header X-API-Key')
  },
}

/** The same keys of an auth that returns `undefined` for others. */
const silentKeys: Auth = {
  ...keys,
  authenticate: async (...request) => keys.authenticate(...request).catch(() => undefined),
}

const first = bearer({ issuer: ISSUER, tenantClaim: 'org_id' })
const second = bearer({
  issuer: OTHER,
  introspection: { clientId: 'mcp', clientSecret: 'secret', tokenPrefix: 'opq_' },
  requiredScopes: ['second'],
})
const verified = bearer({
  verify(token) {
    if (token === 'impostor') return { iss: ISSUER, sub: 'ada' }
    return token.startsWith('v-') ? { iss: 'https://verified.example', sub: 'ada' } : undefined
  },
})
const common = {
  plugins: [audit({ sinks: [(event) => console.log(`audit ${JSON.stringify(event)}`)] })],
} as const

const all = serve(server, { path: '/all/mcp', auth: oneOf(first, second, keys), ...common })
const open = serve(server, {
  path: '/open/mcp',
  auth: oneOf(bearer({ issuer: ISSUER, allowAnonymous: true }), keys),
  ...common,
})
const closed = serve(server, { path: '/closed/mcp', auth: oneOf(forTenant('acme', silentKeys), first), ...common })
const openKeys = serve(server, {
  path: '/open-keys/mcp',
  auth: oneOf(first, forTenant('acme', { ...silentKeys, allowAnonymous: true })),
  ...common,
})
const tenants = serve(server, {
  path: '/tenants/mcp',
  auth: forTenant('acme', oneOf(bearer({ issuer: ISSUER }), bearer({ issuer: OTHER, tenantClaim: 'org_id' })), {
    issuers: [ISSUER, OTHER],
  }),
  ...common,
})
const withoutDpop = serve(server, {
  path: '/without-dpop/mcp',
  auth: oneOf(bearer({ issuer: ISSUER, allowAnonymous: true, dpop: false }), keys),
  ...common,
})
const alone = serve(server, {
  path: '/alone/mcp',
  auth: bearer({ issuer: ISSUER, allowAnonymous: true, dpop: false }),
  ...common,
})
const verify = serve(server, { path: '/verify/mcp', auth: oneOf(verified, first, keys), ...common })
const tenant = serve(server, { path: '/tenant/mcp', auth: oneOf(forTenant('acme', first), keys), ...common })
const users = () => signIn({ with: github({ clientId: 'a', clientSecret: 'b' }) })
const signed = serve(server, { path: '/signed/mcp', auth: oneOf(first, users(), keys), ...common })
const swapped = serve(server, {
  path: '/swapped/mcp',
  auth: oneOf(users(), first, keys),
  durableObjects: { names: { McpSignIn: 'SwappedSignIn' } },
  ...common,
})

export const { McpSignIn } = signed
export const { McpSignIn: SwappedSignIn } = swapped
// The first one answers for the authorization server of this origin.
export default combine(signed, swapped, all, open, closed, openKeys, withoutDpop, alone, tenants, verify, tenant)
