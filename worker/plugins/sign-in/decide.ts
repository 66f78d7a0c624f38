/** What the options of `signIn()` decide about a user: at sign-in, and whenever a client asks for new tokens. */
import type { ProviderName, UserAnswer } from '../../../durable-objects/sign-in/rpc.ts'
import { isStrings } from '../../protocol/check-principal.ts'
import {
  AccessDenied,
  type IdentityProvider,
  isSameProvider,
  type User,
  type UserProfile,
} from './providers/provider.ts'
import type { SignInOptions } from './sign-in-options.ts'
import { userOf } from './user.ts'

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
  const isApproved = new Set(approved)
  return { tenant, scopes: granted.filter((scope) => isApproved.has(scope)) }
}

/** Returns the tenants that a user may act for. @throws Error for a result of another type */
export async function tenantsOf({ tenant }: DecidingOptions, user: User): Promise<readonly string[]> {
  const named: unknown = tenant ? await tenant(user) : user.tenant
  const tenants = named === undefined ? [] : [named].flat()
  if (isStrings(tenants) && !tenants.includes('')) return [...new Set(tenants)]
  throw new Error('tenant of signIn() must return a tenant, a list of tenants or undefined: non-empty strings')
}

/** What is stored with a grant, encrypted. Tokens of the provider are not part of it. */
export type GrantProps = {
  readonly user: User
  /** The tenant for which the user has signed in. */
  readonly tenant: string | undefined
  /** When the sign-in started, in milliseconds since 1970. */
  readonly startedAt: number
}

/** A refresh of the tokens of a grant. */
export type Refresh = {
  readonly userId: string
  readonly clientId: string
  /** Whether the client exchanges a code: only the end of access is decided. */
  readonly isCode: boolean
  /** What is stored with the grant. */
  readonly props: GrantProps
  /** Scopes of the grant, and those that the client requests. */
  readonly scope: readonly string[]
  readonly requestedScope: readonly string[]
}

/** What a refresh decided: all scopes that the client may have, and who the user is. */
export type Decided = { readonly scopes: readonly string[]; readonly user: User }

export type Refreshing =
  | {
      readonly is: 'granted'
      /** The scopes that the client requests and may have. */
      readonly scopes: string[]
      readonly newProps?: GrantProps
      /** What counts until the next refresh; `undefined` for a code. */
      readonly decided?: Decided
    }
  | { readonly is: 'ended'; readonly reason: string }
  | { readonly is: 'unavailable'; readonly reason: string }

/**
 * Decides about a user again, for each refresh. Of a code, only whether access was ended since the sign-in.
 *
 * @param named the providers of the endpoint that received the request: during a rollout, it may be another deployment
 * @param providers those of this isolate
 * @param endedAt returns when the access of the client was ended: what ended it may have failed before it reached this grant
 * @param ask asks a provider who the user is now, with the tokens of a tenant
 */
export async function decideAgain(
  { userId, clientId, isCode, props, scope, requestedScope }: Refresh,
  options: DecidingOptions,
  named: readonly ProviderName[],
  providers: readonly IdentityProvider[],
  endedAt: (userId: string, clientId: string) => Promise<number>,
  ask: (userId: string, provider: IdentityProvider, tenant: string | undefined) => Promise<UserAnswer>,
): Promise<Refreshing> {
  const { user: before, tenant, startedAt } = props
  const known = named.find(({ name }) => name === before.provider)
  if (!known) return ended('The provider of the user is not one of this server any more.')
  try {
    if (startedAt <= (await endedAt(userId, clientId))) return ended('The access was ended. Sign in again.')
    if (isCode) return { is: 'granted', scopes: [] }
    const provider = providers.find((one) => isSameProvider(one, known))
    if (!provider) return { is: 'unavailable', reason: 'Another deployment of this server has the provider' }
    const answer = await ask(userId, provider, tenant)
    if (answer.is === 'denied') return ended(answer.reason)
    if (answer.is === 'unanswered') return { is: 'unavailable', reason: `${provider.title} does not answer` }
    // What a provider returned, which userOf() validates. What it may state may have changed since the sign-in.
    const user = userOf(answer.is === 'known' ? (answer.profile as UserProfile) : before, provider)
    if (user.id !== before.id) return ended('The provider names another user.')
    const decision = await decide(options, user, scope, tenant)
    if (decision.choices || decision.tenant !== tenant) return ended('Sign in again, for an organization.')
    const isGranted = new Set(decision.scopes)
    return {
      is: 'granted',
      scopes: requestedScope.filter((name) => isGranted.has(name)),
      decided: { scopes: decision.scopes, user },
      ...(JSON.stringify(user) !== JSON.stringify(before) && { newProps: { ...props, user } }),
    }
  } catch (problem) {
    if (problem instanceof AccessDenied) return ended(problem.message)
    console.error(problem)
    return { is: 'unavailable', reason: 'This server cannot decide about the user' }
  }
}

const ended = (reason: string): Refreshing => ({ is: 'ended', reason })
