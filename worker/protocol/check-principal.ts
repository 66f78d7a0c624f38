/** Validates principals that code outside of this project creates, which may be JavaScript or read from a store. */

import { McpError } from './errors.ts'
import type { Principal } from './principal.ts'
import { challengeText } from './www-authenticate.ts'

/**
 * Returns the caller that an `Auth` admitted.
 *
 * @throws McpError `unauthorized` as `checkPrincipal` does, and for a caller without a principal if the auth admits no anonymous callers
 */
export function checkCaller(
  { allowAnonymous }: { readonly allowAnonymous?: boolean | undefined },
  caller: Principal | undefined,
): Principal | undefined {
  if (caller === undefined && allowAnonymous !== true) throw new McpError('unauthorized', 'Authorization is required')
  return checkPrincipal(caller)
}

/**
 * Returns the principal that an `Auth` created.
 *
 * @throws McpError `unauthorized` when one of its members has the wrong type
 */
export function checkPrincipal<P extends Principal | undefined>(principal: P): P {
  if (principal === undefined) return principal
  const { scopes, claims } = principal
  for (const name of ['issuer', 'subject', 'client', 'tenant'] as const) {
    const value: unknown = principal[name]
    const isOptional = name === 'client' || name === 'tenant'
    if ((isOptional && value === undefined) || (typeof value === 'string' && value !== '')) continue
    throw invalidPrincipal(`The ${name} of the principal must be a non-empty string, not ${kindOf(value)}`)
  }
  if (!isStrings(scopes)) {
    throw invalidPrincipal(`The scopes of the principal must be a list of strings, not ${kindOf(scopes)}`)
  }
  if (typeof claims !== 'object' || claims === null) {
    throw invalidPrincipal(`The claims of the principal must be an object, not ${kindOf(claims)}`)
  }
  return principal
}

function invalidPrincipal(message: string): McpError {
  const challenge = challengeText({ error: 'invalid_token', description: message, metadata: undefined })
  return new McpError('unauthorized', message, undefined, { 'WWW-Authenticate': challenge })
}

export const isStrings = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** Names the type of a value in an error, without the value: values of claims may be secret. */
export function kindOf(value: unknown): string {
  if (value === '') return 'an empty string'
  if (value === null || value === undefined || typeof value === 'boolean') return String(value)
  if (Array.isArray(value)) {
    return value.every((item) => typeof item === 'string') ? 'a list' : 'a list of other values'
  }
  if (typeof value === 'number' && !Number.isFinite(value)) return 'an infinite number'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
