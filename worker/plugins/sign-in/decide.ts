/** What the options of `signIn()` decide about a user: at sign-in, and whenever a client asks for new tokens. */
import { isStrings } from '../../protocol/check-principal.ts'
import { AccessDenied, type User } from './providers/provider.ts'
import type { SignInOptions } from './sign-in.ts'

/** The options that decide about users. */
export type DecidingOptions = Pick<SignInOptions, 'allow' | 'tenant' | 'requireTenant' | 'grantScopes'>

/** What a user is granted. */
export type Granted = {
  readonly tenant: string | undefined
  readonly scopes: readonly string[]
  readonly choices?: undefined
}

/** What a user is granted, or the tenants of a user who has to choose one first. */
export type Decision = Granted | { readonly choices: readonly string[] }

/**
 * Decides about a user.
 *
 * @param approved scopes that the user approved
 * @param chosen the tenant that the user has chosen. Default: the only one, or none
 * @throws AccessDenied with a sentence for the user; Error for a result of another type
 */
export async function decide(
  options: DecidingOptions,
  user: User,
  approved: readonly string[],
  chosen: string,
): Promise<Granted>
export async function decide(
  options: DecidingOptions,
  user: User,
  approved: readonly string[],
  chosen?: string,
): Promise<Decision>
export async function decide(
  options: DecidingOptions,
  user: User,
  approved: readonly string[],
  chosen?: string,
): Promise<Decision> {
  const { allow, grantScopes, requireTenant = false } = options
  // What `allow` does not decide is refused.
  const allowed = allow ? await allow(user) : true
  if (allowed !== true) {
    throw new AccessDenied(typeof allowed === 'string' ? allowed : 'You do not have access to this server.')
  }
  const tenants = await tenantsOf(options, user)
  if (chosen === undefined && tenants.length > 1) return { choices: tenants }
  const tenant = chosen ?? tenants[0]
  if (tenant === undefined ? requireTenant : !tenants.includes(tenant)) {
    throw new AccessDenied(
      tenant === undefined
        ? 'Your account belongs to no organization that has access to this server.'
        : `Your account does not belong to the organization ${tenant}.`,
    )
  }
  const granted: unknown = grantScopes ? await grantScopes(user, approved, tenant) : approved
  if (!isStrings(granted)) throw new Error('grantScopes of signIn() must return a list of scopes')
  return { tenant, scopes: granted.filter((scope) => approved.includes(scope)) }
}

/** Returns the tenants that a user may act for. @throws Error for a result of another type */
async function tenantsOf({ tenant }: DecidingOptions, user: User): Promise<readonly string[]> {
  const named: unknown = tenant ? await tenant(user) : user.tenant
  const tenants = named === undefined ? [] : [named].flat()
  if (isStrings(tenants) && !tenants.includes('')) return [...new Set(tenants)]
  throw new Error('tenant of signIn() must return a tenant, a list of tenants or undefined: non-empty strings')
}
