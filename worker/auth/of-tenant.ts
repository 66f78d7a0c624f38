import { McpError } from '../protocol/errors.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Auth } from './auth.ts'
import { checked } from './refusal.ts'

/**
 * Whoever this auth lets in acts for this tenant, as `ctx.principal.tenant` says; who acts for another one is refused. The auth
 * has to be the tenant's own, by its issuer or by its audience, which is the endpoint's URL unless `bearer` is told otherwise.
 *
 * @param tenant as the address names it, and the claim of a token if it has one
 * @example
 * serve(server, { auth: ofTenant('acme', bearer({ issuer: 'https://login.acme.example' })) })
 */
export function ofTenant(tenant: string, auth: Auth): Auth {
  const authenticateMadeUp = auth.authenticateMadeUp?.bind(auth)
  return {
    attach: (server) => auth.attach?.(server),
    async authenticate(request, site, visit) {
      const principal = checked(await auth.authenticate(request, site, visit))
      return principal && asTenant(tenant, principal)
    },
    ...(authenticateMadeUp && {
      authenticateMadeUp: async (...user) => asTenant(tenant, await authenticateMadeUp(...user)),
    }),
    refuse: async (visit, site) => auth.refuse?.(visit, site),
    respond: (request, site) => auth.respond?.(request, site),
    storedClaims: auth.storedClaims,
    ...(auth.reauthorize && { reauthorize: (principal, call) => auth.reauthorize?.(principal, call) }),
  }
}

/** @throws McpError `forbidden` when the principal acts for another tenant */
function asTenant(tenant: string, principal: Principal): Principal {
  if (principal.tenant === tenant) return principal
  if (principal.tenant === undefined) return { ...principal, tenant }
  throw new McpError('forbidden', `This token is for another tenant than ${tenant}`)
}
