/** Prepares texts of clients for the log: short, on one line, and without credentials. */

import { matchPath } from '../../../protocol/match-path.ts'
import type { ServerInfo } from '../../../request-hooks.ts'
import { readNonce } from '../../../sealing/seal.ts'

/** Characters of a text. */
const longest = 200

/** Characters of a credential that is removed. A shorter one would match ordinary words. */
const shortestSecret = 8

/** Parts of the credentials of a request that are looked for: each text is compared with all of them. */
const mostSecrets = 256

/** What takes the place of a credential. */
const removed = '[…]'

const secretHeaders = ['Authorization', 'DPoP', 'Cf-Access-Jwt-Assertion', 'Mcp-Session-Id']

export type Write = (text: unknown) => string | undefined

/**
 * Returns a function that prepares texts of a request, and removes its credentials from them.
 *
 * @param session the session id that the request contains
 * @param auth of the endpoint
 */
export function writer(request: Request, session: string | undefined, auth: ServerInfo['auth']): Write {
  const parts = [
    session,
    ...[...secretHeaders, ...(auth?.credentialHeaders ?? [])].map((name) => request.headers.get(name)),
  ].flatMap((value) => value?.split(/[\s,]+/) ?? [])
  // The longest first: a shorter one may be a part of it.
  const secrets = [...new Set(parts)]
    .filter((part) => part.length >= shortestSecret)
    .sort((one, other) => other.length - one.length)
  return (text) => {
    if (typeof text !== 'string') return undefined
    // No credential has so many parts. Any text may have some of them.
    if (secrets.length > mostSecrets) return removed
    // No further than the log has it: a client may send megabytes.
    let safe = ''
    for (let at = 0; at < text.length && safe.length <= longest; ) {
      const secret = secrets.find((each) => text.startsWith(each, at))
      safe += secret === undefined ? text.charAt(at) : removed
      at += secret?.length ?? 1
    }
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
