/** `forTenant()`: an auth that accepts principals of one tenant only. */
import { checkOptions, checkValue, type KindsOf } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import { checkCaller } from '../../protocol/check-principal.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Principal } from '../../protocol/principal.ts'
import type { Auth } from '../../request-hooks.ts'
import { missingTenantClaim } from './claims.ts'

/** Returns the claim that names the tenant of a principal of an auth; `undefined` without one. */
export const tenantClaimFor = (auth: Auth | undefined, principal: Principal): string | undefined =>
  auth?.tenantClaimOf ? auth.tenantClaimOf(principal) : auth?.tenantClaim

/** Configures `forTenant()`. */
export type ForTenantOptions = {
  /**
   * Accepts tokens without the claim that `bearer({ tenantClaim })` names as tokens of this tenant. For an issuer or an audience that only
   * this tenant has. Default: false; such tokens are rejected with 403.
   */
  allowMissingClaim?: boolean
}

/** Authenticates the principals of one tenant, and has the plugins of another auth. */
export type TenantAuth<A extends Auth> = Auth & { readonly plugins: A['plugins'] }

/**
 * Creates an auth that accepts principals of one tenant only, and sets `ctx.principal.tenant` to it. Either the issuer or the audience must
 * belong to this tenant alone (the default audience is the URL of the endpoint), or `bearer({ tenantClaim })` must name the claim that
 * identifies the tenant.
 *
 * @param tenant the tenant, as the claim of the token names it
 * @param auth the auth that authenticates the caller, such as `bearer()`
 * @throws Error for an invalid argument. The message names the fix
 *
 * @example
 * serve(server, { auth: forTenant('acme', bearer({ issuer: 'https://login.acme.example' })) })
 */
export function forTenant<A extends Auth>(tenant: string, auth: A, options: ForTenantOptions = {}): TenantAuth<A> {
  checkValue('forTenant()', 'tenant', tenant, kind.name)
  checkValue('forTenant()', 'auth', auth, kind.auth)
  checkOptions('forTenant()', options, { allowMissingClaim: kind.flag } satisfies KindsOf<ForTenantOptions>)
  const { allowMissingClaim = false } = options
  const authenticateTestUser = auth.authenticateTestUser?.bind(auth)

  /** @throws McpError `forbidden` for a principal of another tenant, and for one without a tenant if a claim must name it */
  function asTenant(principal: Principal): Principal {
    if (principal.tenant === tenant) return principal
    if (principal.tenant !== undefined) {
      throw new McpError(
        'forbidden',
        `The token is for a different tenant: this endpoint accepts only tokens of the tenant ${tenant}`,
      )
    }
    const claim = tenantClaimFor(auth, principal)
    if (claim === undefined || allowMissingClaim) return { ...principal, tenant }
    throw missingTenantClaim(claim, `of the tenant ${tenant}`)
  }

  return {
    tenant,
    plugins: auth.plugins,
    allowAnonymous: auth.allowAnonymous,
    credentialHeaders: auth.credentialHeaders,
    credentials: auth.credentials,
    get issuers() {
      return auth.issuers
    },
    validate: (server) => auth.validate?.(server),
    async authenticate(request, serverInfo, incoming) {
      const principal = checkCaller(auth, await auth.authenticate(request, serverInfo, incoming))
      return principal && asTenant(principal)
    },
    ...(authenticateTestUser && {
      authenticateTestUser: async (...user) => asTenant(await authenticateTestUser(...user)),
    }),
    authorize: async (incoming, serverInfo) => auth.authorize?.(incoming, serverInfo),
    routes: auth.routes,
    handleRequest: (request, serverInfo) => auth.handleRequest?.(request, serverInfo),
    storedClaims: auth.storedClaims,
    get storedByIssuer() {
      return auth.storedByIssuer
    },
    ...(auth.reauthorize && { reauthorize: (principal, call) => auth.reauthorize?.(principal, call) }),
  }
}
