/** `ctx.upstream()`: tokens of the user for the API of a provider. */

import type { SignInHost } from '../../../durable-objects/sign-in/object.ts'
import type { KeptTokens, SignInRpc, TokensName } from '../../../durable-objects/sign-in/rpc.ts'
import type { ProviderCalls, UpstreamHost } from '../../../durable-objects/sign-in/upstream-tokens.ts'
import type { Context, UpstreamOptions } from '../../declarations/context.ts'
import { UnlistedScopeError } from '../../declarations/upstream-token.ts'
import type { Seals } from '../../engine/call.ts'
import type { Runtime } from '../../plugin.ts'
import { McpError, ToolError } from '../../protocol/errors.ts'
import { ownerKey, type Principal } from '../../protocol/principal.ts'
import { upstreamKeyOf } from './authorization-server.ts'
import { heldScopes, requestableFor } from './held-scopes.ts'
import { objectName } from './object-names.ts'
import {
  AccessDenied,
  type IdentityProvider,
  isSameProvider,
  RefreshRejected,
  TokenRejected,
} from './providers/provider.ts'
import type { UpstreamCache } from './upstream-cache.ts'

/** Milliseconds for which a sealed token can be read: longer than any provider keeps one. */
const sealLifeMs = 10 * 365 * 24 * 60 * 60_000

/** Requests for a scope that the provider does not grant, before a call says so instead of asking again. */
const maxRequests = 2

/** Scopes that the stored tokens have or had, and how often others were requested and not granted. */
type Lacking = { readonly held: readonly string[]; readonly refused: Readonly<Record<string, number>> }

/** Path of the page that connects a provider, without its name. */
export const linkPath = '/oauth/link/'

/** Path of the pages to which providers send users, without the name of the provider. */
export const callbackPath = '/oauth/callback/'

/** Returns the name of the provider with which a user signed in. */
export const providerOfUser = (userId: string): string => userId.slice(0, userId.indexOf('.'))

type UpstreamRuntime = Pick<Runtime, 'object' | 'identity'>

/** @throws ToolError for the model; McpError `unavailable` */
export async function readUpstream(
  ctx: Context,
  name: string,
  { scopes = [], rejected }: UpstreamOptions,
  providers: readonly IdentityProvider[],
  runtime: UpstreamRuntime,
  cache: UpstreamCache,
): Promise<string> {
  const provider = providers.find((one) => one.name === name)
  if (!provider) {
    const names = providers.map((one) => `"${one.name}"`).join(', ')
    throw new Error(`ctx.upstream("${name}") names no provider of signIn(): it has ${names}`)
  }
  const { principal } = ctx
  if (!principal) throw new McpError('unauthorized', `${provider.title} needs a signed-in user`)
  const stored = await storedToken(principal, provider, { scopes, rejected }, runtime, cache)
  if ('accessToken' in stored) return stored.accessToken
  const primary = providerOfUser(principal.subject)
  if (!providers.some((one) => one.name === primary)) {
    throw new ToolError(`Users of ${primary} cannot connect ${provider.title}: their organization signs them in`)
  }
  const held = heldScopes(provider, stored.held)
  const needed = scopesToRequest(provider, scopes, held)
  // The provider issues tokens with the scopes of one request: those that the user connected before are requested, too.
  const before = provider.knownScopes.filter((scope) => held.has(scope))
  const url = linkUrl(principal, provider, [...needed, ...before])
  const refused = needed.filter((scope) => (stored.refused[scope] ?? 0) >= maxRequests)
  if (refused.length > 0) throw notGranted(provider, refused, url)
  const message = `Connect ${provider.title}, so that this server can use it for you.`
  if (!ctx.supports('elicitation.url')) {
    throw new ToolError(
      `The user has to connect ${provider.title} first. Give them this link, and call again afterwards: ${url}`,
    )
  }
  const { action } = await ctx.elicitUrl(['upstream', name, ...scopes].join(' '), message, url, { required: true })
  if (action !== 'accept') throw new ToolError(`The user did not connect ${provider.title}`)
  const connected = await storedToken(principal, provider, { scopes, rejected }, runtime, cache)
  if ('accessToken' in connected) return connected.accessToken
  const lacked = needed.filter((scope) => (connected.refused[scope] ?? 0) > 0)
  if (lacked.length > 0) throw notGranted(provider, lacked, url)
  throw new ToolError(`The user has not connected ${provider.title} yet. Call again when they have opened ${url}`)
}

/** Returns the scopes to request for those that are needed and not held. @throws UnlistedScopeError for one that the provider does not list */
function scopesToRequest(
  provider: IdentityProvider,
  scopes: readonly string[],
  held: ReadonlySet<string>,
): readonly string[] {
  const lacked = scopes.filter((scope) => !held.has(scope))
  return lacked.map((scope) => {
    const found = requestableFor(provider, scope)
    if (found !== undefined) return found
    throw new UnlistedScopeError(
      `ctx.upstream("${provider.name}") needs the scope "${scope}", which signIn() does not request: add it to additionalScopes of the provider`,
    )
  })
}

const notGranted = ({ title }: IdentityProvider, scopes: readonly string[], url: string): ToolError =>
  new ToolError(
    `${title} did not grant the scope ${scopes.join(' ')}. The user can connect ${title} again, and allow it: ${url}`,
  )

/** @throws McpError `unavailable` when the provider does not answer */
async function storedToken(
  principal: Principal,
  provider: IdentityProvider,
  { scopes = [], rejected }: UpstreamOptions,
  runtime: UpstreamRuntime,
  cache: UpstreamCache,
): Promise<{ readonly accessToken: string } | Lacking> {
  const { issuer, subject } = principal
  const tenant = grantTenantOf(principal)
  const { name, title } = provider
  // Where the provider states no tenant, its account belongs to the user in whichever tenant.
  const key = `${tokensEntry(provider, subject, tenant)} ${ownerKey({ issuer, subject }, runtime.identity)}`
  const cached = scopes.length === 0 && rejected === undefined ? cache.get(key) : undefined
  if (cached !== undefined) return { accessToken: cached }
  const realm = { origin: issuer, identity: runtime.identity }
  const object = runtime.object<SignInRpc>('McpSignIn', objectName(realm, upstreamKeyOf(subject)))
  const answer = await object.upstreamToken(subject, tokensName(provider, subject, tenant), scopes, rejected)
  if ('accessToken' in answer) {
    cache.set(key, answer.accessToken, answer.expires)
    return answer
  }
  cache.delete(key)
  if (answer.missing !== 'answer') return answer
  throw new McpError('unavailable', `${title} does not answer: try again later`, { reason: 'upstream', provider: name })
}

/** The same URL in each round of a call. Whoever opens it signs in first, and connects the provider to their own account. */
function linkUrl(principal: Principal, provider: IdentityProvider, all: readonly string[]): string {
  const { issuer, subject } = principal
  const tenant = grantTenantOf(principal)
  const { name, signInScopes, knownScopes } = provider
  const scopes = [...new Set(all)]
    .filter((scope) => knownScopes.includes(scope) && !signInScopes.includes(scope))
    .sort()
  const url = new URL(`${linkPath}${name}`, issuer)
  const primary = providerOfUser(subject)
  if (primary !== name) url.searchParams.set('with', primary)
  if (statesTenantOf(provider, subject) && tenant !== undefined) url.searchParams.set('tenant', tenant)
  if (scopes.length > 0) url.searchParams.set('scope', scopes.join(' '))
  return url.href
}

/** Returns the tenant of the grant: `forTenant()` may name another one. */
function grantTenantOf({ claims, tenant }: Principal): string | undefined {
  if (!('sub' in claims)) return tenant
  return typeof claims.tenant === 'string' ? claims.tenant : undefined
}

/** Returns what objects with upstream tokens need. @param providers of this isolate */
export function upstreamHost(
  providers: readonly IdentityProvider[],
  seals: Seals,
  report: (problem: unknown) => void,
): UpstreamHost & Pick<SignInHost, 'find'> {
  const purpose = (user: string, entry: string) => `upstream ${entry} ${user}`
  return {
    seal: (user, entry, tokens) => seals.seal(purpose(user, entry), tokens, sealLifeMs),
    // What `seal` sealed.
    open: async (user, entry, sealed) => (await seals.open(purpose(user, entry), sealed)) as never,
    find(of) {
      const provider = providers.find((one) => isSameProvider(one, of))
      return provider && { ...of, ...callsOf(provider, report) }
    },
    async revoke({ issuer, clientId, refreshToken, accessToken }) {
      const provider = providers.find((one) => isSameProvider(one, { name: one.name, issuer, clientId }))
      if (provider) return provider.revoke?.(refreshToken ?? accessToken).catch(report)
      report(
        new Error(
          `Tokens of the client ${clientId} at ${issuer} were deleted, and not revoked there: this deployment has no such provider`,
        ),
      )
    },
    held: (of, tokens) => heldScopes(of, tokens.scopes),
  }
}

/** Whether a provider states the tenant of a user: the user has signed in with it. */
export const statesTenantOf = ({ name, tenants }: IdentityProvider, userId: string): boolean =>
  tenants !== undefined && providerOfUser(userId) === name

/**
 * Names the tokens of a user at a provider. Where the provider states the tenant of the user, they are those of one tenant: an app of
 * another tenant must not use them.
 *
 * @param tenant of the grant
 */
const tokensEntry = (provider: IdentityProvider, userId: string, tenant: string | undefined): string =>
  statesTenantOf(provider, userId) && tenant !== undefined ? `${provider.name} ${tenant}` : provider.name

/** Names the tokens of a user at a provider, for their object. @param tenant of the grant for which it is asked */
export function tokensName(provider: IdentityProvider, userId: string, tenant: string | undefined): TokensName {
  const { name, issuer, clientId, impliedScopes } = provider
  return { name, issuer, clientId, entry: tokensEntry(provider, userId, tenant), impliedScopes }
}

/** Returns the calls of a provider, with answers instead of errors. */
function callsOf(
  provider: IdentityProvider,
  report: (problem: unknown) => void,
): Pick<ProviderCalls, 'refresh' | 'user'> {
  return {
    ...(provider.refresh && { refresh: (tokens) => refreshAt(provider, tokens, report) }),
    async user(tokens) {
      try {
        const profile = await provider.user?.(tokens)
        return profile ? { is: 'known', profile: { ...profile } } : { is: 'unchanged' }
      } catch (problem) {
        if (problem instanceof TokenRejected) return 'rejected'
        if (problem instanceof AccessDenied) return { is: 'denied', reason: problem.message }
        report(problem)
        return { is: 'unanswered' }
      }
    },
  }
}

async function refreshAt(
  provider: IdentityProvider,
  tokens: KeptTokens,
  report: (problem: unknown) => void,
): ReturnType<NonNullable<ProviderCalls['refresh']>> {
  const { issuer, clientId } = provider
  try {
    const refreshed = await provider.refresh?.(tokens)
    return refreshed && { ...refreshed, account: tokens.account, issuer, clientId }
  } catch (problem) {
    if (problem instanceof RefreshRejected) return undefined
    report(problem)
    return 'unanswered'
  }
}
