/** How a caller is told what it takes. */

import { McpError } from '../../protocol/errors.ts'
import { type Challenge, challengeText } from '../../protocol/www-authenticate.ts'
import type { IncomingRequest, ServerInfo } from '../../request-hooks.ts'
import { metadataUrl, resourceOf } from './metadata.ts'

export type Refusal = {
  kind: 'unauthorized' | 'invalid_request' | 'insufficient_scope'
  message: string
  challenge: Challenge
  /** The error's `data`. */
  data?: unknown
}

/** @param metadata where this server describes itself, if it does */
export function challengeError({ kind, message, challenge, data }: Refusal, metadata: string | undefined): McpError {
  return new McpError(kind, message, data, { 'WWW-Authenticate': challengeText({ ...challenge, metadata }) })
}

/**
 * @param scopes what it takes
 * @param held what the token allows already: it is asked for again, because clients replace what they have
 */
export function insufficientScope(scopes: readonly string[], held: readonly string[]): Refusal {
  const message = `Requires the scopes ${scopes.join(' ')}`
  const names = [...new Set([...held.filter(isAskedFor), ...scopes])]
  const challenge = { error: 'insufficient_scope', description: message, scopes: names } as const
  return { kind: 'insufficient_scope', message, challenge, data: { scopes } }
}

/** Is it a scope at all (RFC 6749, section 3.3), and one that a resource asks for? */
const isAskedFor = (scope: string): boolean => /^[!#-[\]-~]+$/.test(scope) && scope !== 'offline_access'

/** Everything that the messages of a request take, if its principal lacks some of it. */
export async function missingScopes(
  { principal, messages = [] }: IncomingRequest,
  serverInfo: ServerInfo,
): Promise<readonly string[]> {
  const posted = messages.filter((message) => 'method' in message)
  const lacked = await Promise.all(posted.map((message) => serverInfo.lackedScopes(principal, message)))
  return [...new Set(lacked.flat())]
}

/** Where the endpoint that is asked describes itself. */
export const metadataUrlFor = (request: Request, serverInfo: ServerInfo, resource?: string): string =>
  metadataUrl(resourceOf(request, serverInfo, resource))
