/** Users that nobody has to sign in as: whoever develops a server makes them up. */
import type { Auth } from '../auth/auth.ts'
import type { Principal } from '../protocol/principal.ts'
import { madeUpIn } from './made-up.ts'
import { isOwnPage } from './own-page.ts'

/** Lets the inspector be whoever it says it is. Everybody else is asked for what they always are. */
export function withMadeUp(auth: Auth, env: object): Auth {
  return {
    attach: auth.attach?.bind(auth),
    refuse: auth.refuse?.bind(auth),
    respond: auth.respond?.bind(auth),
    storedClaims: auth.storedClaims,
    // The server's own hook knows no made-up users.
    reauthorize:
      auth.reauthorize &&
      (async (principal, call) => (principal.client === inspector ? principal : auth.reauthorize?.(principal, call))),
    authenticate: async (request, site, visit) =>
      madeUp(request, env) ?? (await auth.authenticate(request, site, visit)),
  } as Auth
}

/** The client of made-up users. */
const inspector = 'edgemcp-inspector'

function madeUp(request: Request, env: object): Principal | undefined {
  const [, token] = /^Bearer (.+)$/.exec(request.headers.get('Authorization') ?? '') ?? []
  const user = token === undefined ? undefined : madeUpIn(token)
  if (!user || !isOwnPage(request, env)) return undefined
  const { subject, scopes, tenant, claims } = user
  return {
    issuer: new URL(request.url).origin,
    subject,
    client: inspector,
    ...(tenant !== undefined && { tenant }),
    scopes,
    claims: { ...claims, sub: subject, scope: scopes.join(' ') },
  }
}
