/** Errors with a `WWW-Authenticate` challenge, which names the required scopes and the metadata of this server. */

import { McpError } from '../../protocol/errors.ts'
import { type Challenge, challengeText } from '../../protocol/www-authenticate.ts'
import type { IncomingRequest, ServerInfo } from '../../request-hooks.ts'
import { metadataUrl, resourceOf } from './metadata.ts'

export type Refusal = {
  kind: 'unauthorized' | 'invalid_request' | 'insufficient_scope'
  message: string
  challenge: Challenge
  /** The member `data` of the error. */
  data?: unknown
  /** The schemes that the client may use. The first has the parameters of the challenge. Default: `Bearer`. */
  schemes?: readonly Scheme[] | undefined
  /** Signature algorithms of DPoP proofs. RFC 9449, section 7.1. */
  algorithms?: readonly string[] | undefined
}

export type Scheme = 'Bearer' | 'DPoP'

/** @param metadata the URL of the metadata of this server, if it publishes any */
export function challengeError(
  { kind, message, challenge, data, schemes = ['Bearer'], algorithms = [] }: Refusal,
  metadata: string | undefined,
): McpError {
  const texts = schemes.map((scheme, index) =>
    challengeText({
      ...(index === 0 && { ...challenge, metadata }),
      ...(scheme === 'DPoP' && { algs: algorithms.join(' ') }),
    }),
  )
  return new McpError(kind, message, data, { 'WWW-Authenticate': texts.join(', ') })
}

/**
 * @param scopes the required scopes
 * @param held the scopes of the token, which the challenge repeats because clients replace their token
 */
export function insufficientScope(scopes: readonly string[], held: readonly string[]): Refusal {
  const message = `Requires the scopes ${scopes.join(' ')}`
  const names = [...new Set([...held.filter(isAskedFor), ...scopes])]
  const isShort = names.join(' ').length <= maxScopeCharacters
  const challenge = {
    error: 'insufficient_scope',
    description: message,
    scopes: isShort ? names : scopes,
  } as const
  return { kind: 'insufficient_scope', message, challenge, data: { scopes } }
}

/** Characters of the scopes in a challenge. With longer headers, a response does not arrive. */
const maxScopeCharacters = 8_192

/** Whether a text is a scope (RFC 6749, section 3.3) that a resource server requests. */
const isAskedFor = (scope: string): boolean => /^[!#-[\]-~]+$/.test(scope) && scope !== 'offline_access'

/** Returns all scopes of the messages of a request, if its principal lacks one of them. */
export async function missingScopes(incoming: IncomingRequest, serverInfo: ServerInfo): Promise<readonly string[]> {
  const { principal, messages = [] } = incoming
  const posted = messages.filter((message) => 'method' in message)
  const lacked = await Promise.all(posted.map((message) => serverInfo.lackedScopes(principal, message, incoming)))
  return [...new Set(lacked.flat())]
}

/** Returns the URL of the metadata of the requested endpoint. */
export const metadataUrlFor = (request: Request, serverInfo: ServerInfo, resource?: string): string =>
  metadataUrl(resourceOf(request, serverInfo, resource))
