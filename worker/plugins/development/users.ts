/** Test users: a developer enters them in the inspector instead of a token. */

import { type InspectorUser, parseTestUser } from '../../client/test-users.ts'
import type { StoredPrincipals } from '../../declarations/stored-principal.ts'
import type { Auth } from '../../plugin.ts'
import type { RequestAuth } from '../../request-hooks.ts'
import { foreignIssuer } from '../auth/claims.ts'
import { isOwnPage } from './own-page.ts'

/** Returns an auth that accepts test users from the inspector, and authenticates all other requests as before. */
export function withTestUsers(auth: Auth, env: object): Auth {
  const accepting: Auth = {
    allowAnonymous: auth.allowAnonymous,
    credentialHeaders: auth.credentialHeaders,
    validate: auth.validate?.bind(auth),
    authorize: auth.authorize?.bind(auth),
    // The issuer of a test user may be the origin of the server, which no auth names.
    admit(principal) {
      if (principal.client !== inspector && auth.issuers?.includes(principal.issuer) === false)
        throw foreignIssuer(principal)
      return auth.admit?.(principal) ?? principal
    },
    routes: auth.routes,
    handleRequest: auth.handleRequest?.bind(auth),
    ...storingTestUsers(auth),
    get storedByIssuer() {
      const stored = Object.entries(auth.storedByIssuer ?? {})
      return Object.fromEntries(stored.map(([issuer, terms]) => [issuer, storingTestUsers(terms)]))
    },
    async authenticate(request, serverInfo, incoming) {
      const user = await inspectorUserOf(request, env)
      if (!user) return auth.authenticate(request, serverInfo, incoming)
      const { subject, scopes, tenant } = user
      const claims = { ...user.claims, sub: subject, scope: scopes.join(' ') }
      if (auth.authenticateTestUser) {
        const withClient = { ...claims, client_id: inspector }
        return auth.authenticateTestUser({ claims: withClient, tenant }, request, serverInfo, incoming)
      }
      const issuer = new URL(request.url).origin
      return { issuer, subject, client: inspector, ...(tenant !== undefined && { tenant }), scopes, claims }
    },
  }
  originals.set(accepting, auth)
  return accepting
}

const originals = new WeakMap<object, RequestAuth>()

/** Returns the auth of a deployment. */
export const withoutTestUsers = (auth: RequestAuth | undefined): RequestAuth | undefined =>
  auth && (originals.get(auth) ?? auth)

/** Principals of test users are current: the server's own `reauthorize` does not know them. */
const storingTestUsers = (stored: StoredPrincipals): StoredPrincipals => ({
  storedClaims: stored.storedClaims,
  reauthorize:
    stored.reauthorize &&
    (async (principal, call) => (principal.client === inspector ? principal : stored.reauthorize?.(principal, call))),
})

/** The client of test users. */
const inspector = 'edgemcp-inspector'

async function inspectorUserOf(request: Request, env: object): Promise<InspectorUser | undefined> {
  const [, token] = /^Bearer (.+)$/.exec(request.headers.get('Authorization') ?? '') ?? []
  const user = token === undefined ? undefined : parseTestUser(token)
  return user && (await isOwnPage(request, env)) ? user : undefined
}
