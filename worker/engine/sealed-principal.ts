/**
 * The principal of work that outlives its request. It is stored sealed, without its token and only with claims that may be stored.
 * `reauthorize` and `admit` of the server's auth decide again.
 */
import { type StoredByIssuer, type StoredPrincipals, storable, storedFor } from '../declarations/stored-principal.ts'
import { checkPrincipal } from '../protocol/check-principal.ts'
import { McpError } from '../protocol/errors.ts'
import { type Principal, principalKey } from '../protocol/principal.ts'
import type { Params } from '../protocol/types.ts'
import type { Seals } from './call.ts'

/**
 * What the auth that accepted the principal must have so that the work goes on. `isReauthorized`: it has `reauthorize`. `isNamed`: it names
 * the issuer, whose subjects mean nothing to another auth.
 */
type Sealed = { readonly principal: Principal; readonly isReauthorized: boolean; readonly isNamed: boolean }

/** `isCurrent`: `reauthorize` has returned it. `reason`: why the principal may not go on. */
export type Reauthorized = { readonly principal: Principal; readonly isCurrent: boolean } | { readonly reason: string }

/** @param purpose must be the same to open it, and have no other values @param lifetimeMs milliseconds for which it can be opened */
export function sealPrincipal(
  purpose: string,
  principal: Principal,
  auth: StoredByIssuer | undefined,
  seals: Seals,
  lifetimeMs: number,
): Promise<string> {
  const { storedClaims, reauthorize } = storedFor(principal, auth ?? {})
  const value: Sealed = {
    principal: storable(principal, storedClaims),
    isReauthorized: reauthorize !== undefined,
    isNamed: namesIssuer(principal, auth),
  }
  return seals.seal(purpose, value, lifetimeMs)
}

const namesIssuer = ({ issuer }: Principal, { issuers, storedByIssuer = {} }: StoredByIssuer = {}): boolean =>
  issuers?.includes(issuer) || Object.hasOwn(storedByIssuer, issuer)

/**
 * Returns the principal as it is now.
 *
 * @param call the request with which the work began
 * @throws any error of `reauthorize`
 */
export async function reauthorize(
  {
    purpose,
    sealed,
    call,
  }: {
    readonly purpose: string
    readonly sealed: string
    readonly call: { readonly method: string; readonly params: Params }
  },
  auth: StoredByIssuer | undefined,
  seals: Seals,
): Promise<Reauthorized> {
  // `sealPrincipal` sealed it: the purpose has no other values.
  const opened = (await seals.open(purpose, sealed)) as Sealed | undefined
  if (!opened) return { reason: 'its stored principal cannot be read, because its key is no longer in EDGEMCP_KEYS' }
  const { principal, isReauthorized, isNamed } = opened
  const stored = storedFor(principal, auth ?? {})
  if (isReauthorized && !stored.reauthorize) return { reason: 'the auth of the server no longer has reauthorize' }
  if ((isNamed || auth?.issuers) && !namesIssuer(principal, auth))
    return { reason: `This server does not accept callers of the issuer "${principal.issuer}"` }
  const current = await currentOf(principal, stored, call)
  if (!current) return { reason: "reauthorize of the server's auth refused the caller who began it" }
  try {
    const admitted = auth?.admit?.(checkPrincipal(current)) ?? current
    if (principalKey(admitted) !== principalKey(principal)) return { reason: 'reauthorize returned another principal' }
    return { principal: admitted, isCurrent: stored.reauthorize !== undefined }
  } catch (problem) {
    if (problem instanceof McpError) return { reason: problem.message }
    throw problem
  }
}

async function currentOf(
  principal: Principal,
  { reauthorize }: StoredPrincipals,
  call: { readonly method: string; readonly params: Params },
): Promise<Principal | undefined> {
  try {
    return reauthorize ? await reauthorize(principal, call) : principal
  } catch (problem) {
    // It refuses with `undefined`. Whatever it throws is a failure, after which it is called again.
    throw problem instanceof McpError ? new Error(problem.message, { cause: problem }) : problem
  }
}
