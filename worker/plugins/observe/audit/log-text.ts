/** Prepares texts of clients for the log: short, on one line, and without credentials. */

import { matchPath } from '../../../protocol/match-path.ts'
import type { ServerInfo } from '../../../request-hooks.ts'
import { readNonce } from '../../../sealing/seal.ts'

/** Characters of a text. */
const longest = 200

/** Characters of a credential that is removed. A shorter one would match ordinary words. */
const shortestSecret = 8

const secretHeaders = ['Authorization', 'DPoP', 'Cf-Access-Jwt-Assertion', 'Mcp-Session-Id']

export type Write = (text: unknown) => string | undefined

/**
 * Returns a function that prepares texts of a request, and removes its credentials from them.
 *
 * @param session the session id that the request contains
 * @param auth of the endpoint
 */
export function writer(request: Request, session: string | undefined, auth: ServerInfo['auth']): Write {
  const secrets = [
    session,
    ...[...secretHeaders, ...(auth?.credentialHeaders ?? [])].map((name) => request.headers.get(name)),
  ]
    .flatMap((value) => value?.split(/[\s,]+/) ?? [])
    .filter((part) => part.length >= shortestSecret)
  return (text) => {
    if (typeof text !== 'string') return undefined
    const safe = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[…]'), text)
    const short = safe.length > longest ? `${safe.slice(0, longest - 1)}…` : safe
    // A cut may leave half a character; one that cannot be seen could make a line look like another.
    return short.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')
  }
}

/** Returns the session id that a request contains, valid or not. */
export function sessionOf({ url, headers }: Request, { paths }: ServerInfo): string | undefined {
  const { pathname, searchParams } = new URL(url)
  const id = matchPath(pathname, [paths.messages]) ? searchParams.get('session') : headers.get('Mcp-Session-Id')
  return id ?? undefined
}

/**
 * Returns `ctx.session.id` of the session that a request names, valid or not: `Mcp-Session-Id` itself is a credential, together with a token.
 *
 * @returns `undefined` for a text that cannot be a session id of this server
 */
export const loggedSession = (id: string | undefined): string | undefined => id && readNonce(id)
