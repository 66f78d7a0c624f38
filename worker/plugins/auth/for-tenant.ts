/** `forTenant()`: an auth that accepts principals of one tenant only. */
import { checkOptions, checkValue, type KindsOf } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Auth } from '../../plugin.ts'
import { checkCaller } from '../../protocol/check-principal.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Principal } from '../../protocol/principal.ts'
import { missingTenantClaim } from './claims.ts'

/** Returns the claim that names the tenant of a principal of an auth; `undefined` without one. */
export const tenantClaimFor = (auth: Auth | undefined, principal: Principal): string | undefined =>
  auth?.tenantClaimOf ? auth.tenantClaimOf(principal) : auth?.tenantClaim

/** Configures `forTenant()`. */
export type ForTenantOptions = {
  /**
   * Issuers whose tokens are accepted, as their `iss` names them. Required if the auth has several, or accepts tokens of any issuer. Default:
   * the one issuer of the auth.
   */
  issuers?: readonly string[]
  /**
   * Accepts tokens without the claim that `bearer({ tenantClaim })` names as tokens of this tenant. For an issuer or an audience that only
   * this tenant has. Default: false; such tokens are rejected with 403.
   */
  allowMissingClaim?: boolean
}

/** Authenticates the principals of one tenant, and has the plugins of another auth. */
export type TenantAuth<A extends Auth> = Auth & { readonly plugins: A['plugins'] }

const kinds: KindsOf<ForTenantOptions> = { issuers: kind.strings, allowMissingClaim: kind.flag }

/**
 * Creates an auth that accepts principals of one tenant only, and sets `ctx.principal.tenant` to it. Its issuers may all state this tenant:
 * name them in `issuers` if the auth has others. Either the issuer or the audience must
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
  checkOptions('forTenant()', options, kinds)
  const { issuers, allowMissingClaim = false } = options
  if (!issuers && new Set(auth.issuers).size !== 1) {
    throw new Error(
      "The auth of forTenant() may have several issuers: name those of the tenant, as in forTenant('acme', auth, { issuers: ['https://login.example.com'] })",
    )
  }
  const authenticateTestUser = auth.authenticateTestUser?.bind(auth)

  /** @throws McpError `forbidden` for a principal of another issuer or tenant, and for one without a tenant if a claim must name it */
  function asTenant(principal: Principal): Principal {
    if (issuers && !issuers.includes(principal.issuer)) {
      throw new McpError(
        'forbidden',
        `The token is from ${principal.issuer}: this endpoint accepts tokens of the tenant ${tenant} only from ${issuers.join(', ')}`,
      )
    }
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
      return issuers ?? auth.issuers
    },
    validate: (server) => auth.validate?.(server),
    async authenticate(request, serverInfo, incoming) {
      const principal = checkCaller(auth, await auth.authenticate(request, serverInfo, incoming))
      return principal && asTenant(principal)
    },
    ...(authenticateTestUser && {
      authenticateTestUser: async ({ claims, ...user }, ...request) => {
        const named = { ...(issuers?.[0] !== undefined && { iss: issuers[0] }), ...claims }
        return asTenant(await authenticateTestUser({ ...user, claims: named }, ...request))
      },
    }),
    authorize: async (incoming, serverInfo) => auth.authorize?.(incoming, serverInfo),
    routes: auth.routes,
    handleRequest: (request, serverInfo) => auth.handleRequest?.(request, serverInfo),
    storedClaims: auth.storedClaims,
    get storedByIssuer() {
      return auth.storedByIssuer
    },
    ...(auth.reauthorize && { reauthorize: (principal, call) => auth.reauthorize?.(principal, call) }),
    admit: (principal) => asTenant(auth.admit?.(principal) ?? principal),
  }
}
