import { checkOptions, checkValue, type KindsOf } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import { checkPrincipal } from '../../protocol/check-principal.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Principal } from '../../protocol/principal.ts'
import type { Auth } from '../../request-hooks.ts'

export type ForTenantOptions = {
  /**
   * Accepts tokens without the claim that `bearer({ tenantClaim })` names, as tokens of this tenant: for an issuer or an audience that
   * only this tenant has. Default false: they are refused with 403.
   */
  allowMissingClaim?: boolean
}

/**
 * Makes every principal of an auth act for one tenant, which becomes `ctx.principal.tenant`, and refuses principals of other
 * tenants. The issuer or the audience of the auth belongs to the tenant alone (the audience is the endpoint's URL unless `bearer`
 * names another), or `bearer({ tenantClaim })` names the claim by which the tenants of a shared issuer differ.
 *
 * @param tenant as the address names it, and the claim of a token if it has one
 * @example
 * serve(server, { auth: forTenant('acme', bearer({ issuer: 'https://login.acme.example' })) })
 */
export function forTenant(tenant: string, auth: Auth, options: ForTenantOptions = {}): Auth {
  checkValue('forTenant()', 'tenant', tenant, kind.name)
  checkValue('forTenant()', 'auth', auth, kind.auth)
  checkOptions('forTenant()', options, { allowMissingClaim: kind.flag } satisfies KindsOf<ForTenantOptions>)
  const { allowMissingClaim = false } = options
  const authenticateTestUser = auth.authenticateTestUser?.bind(auth)

  /** @throws McpError `forbidden` for a principal of another tenant, or of none where a claim has to name it */
  function asTenant(principal: Principal): Principal {
    if (principal.tenant === tenant) return principal
    if (principal.tenant !== undefined) {
      throw new McpError('forbidden', `This token is for another tenant than ${tenant}`)
    }
    if (auth.tenantClaim === undefined || allowMissingClaim) return { ...principal, tenant }
    throw new McpError(
      'forbidden',
      `The token has no claim "${auth.tenantClaim}": this endpoint is for tokens of the tenant ${tenant}`,
    )
  }

  return {
    tenant,
    validate: (server) => auth.validate?.(server),
    async authenticate(request, serverInfo, incoming) {
      const principal = checkPrincipal(await auth.authenticate(request, serverInfo, incoming))
      return principal && asTenant(principal)
    },
    ...(authenticateTestUser && {
      authenticateTestUser: async (...user) => asTenant(await authenticateTestUser(...user)),
    }),
    authorize: async (incoming, serverInfo) => auth.authorize?.(incoming, serverInfo),
    handleMetadataRequest: (request, serverInfo) => auth.handleMetadataRequest?.(request, serverInfo),
    storedClaims: auth.storedClaims,
    ...(auth.reauthorize && { reauthorize: (principal, call) => auth.reauthorize?.(principal, call) }),
  }
}
