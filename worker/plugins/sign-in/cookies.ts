/** Returns the value of a cookie of a request. */
export function readCookie({ headers }: Request, name: string): string | undefined {
  const cookies = (headers.get('Cookie') ?? '').split(/; */)
  return cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** Returns a header that sets a cookie for this host, which scripts cannot read. @see https://www.rfc-editor.org/rfc/rfc6265#section-4.1 */
export const setCookie = (name: string, value: string, lifeMs: number, sameSite: 'Lax' | 'Strict'): string =>
  `${name}=${value}; Max-Age=${lifeMs / 1000}; Path=/; Secure; HttpOnly; SameSite=${sameSite}`

/** Returns a header that deletes a cookie. */
export const deleteCookie = (name: string): string => setCookie(name, '', 0, 'Lax')

/**
 * Returns headers that delete the oldest cookies of a request whose names start with a text, so that a browser has at most `max` of them, one that is
 * set now included. Browsers send the oldest ones first: RFC 6265, section 5.4.
 */
export const deleteOldest = ({ headers }: Request, prefix: string, max: number): string[] =>
  (headers.get('Cookie') ?? '')
    .split(/; */)
    .flatMap((cookie) => (cookie.startsWith(prefix) ? (cookie.split('=')[0] ?? []) : []))
    .slice(0, 1 - max)
    .map(deleteCookie)
