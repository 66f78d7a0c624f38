/**
 * The credential of a request.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-2
 */

/** Bytes of a token. */
export const longestToken = 16 * 1024

/**
 * The token of a request. `malformed` states what is wrong with its header. Without a `scheme`, the token cannot be bound to a key.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9449#section-7.1
 */
export type Found = (({ token: string } | { malformed: string }) & { scheme?: 'Bearer' | 'DPoP' }) | undefined

/** RFC 6750, section 2.1: `b64token`. */
const token68 = /^[\w.~+/-]+=*$/

/** @param form of the tokens. Default: that of RFC 6750 */
export function bearerToken({ url, headers }: Request, form: RegExp = token68): Found {
  // In a URL it ends up in logs and histories.
  if (/[?&]access_token=/.test(url)) {
    return { malformed: 'Tokens in the URL are not accepted: send the header Authorization' }
  }
  const header = headers.get('Authorization') ?? ''
  const [, name] = /^(bearer|dpop)(?: |$)/i.exec(header) ?? []
  if (name === undefined) return undefined
  const scheme = name.length === 4 ? 'DPoP' : 'Bearer'
  // Two headers arrive as one, with a comma that no token has.
  const [, token = ''] = /^\S+ +(\S+)$/.exec(header) ?? []
  if (!form.test(token))
    return { malformed: `The header Authorization must be "${scheme}", a space and one token`, scheme }
  if (token.length > longestToken) return { malformed: `The token is too long: at most ${longestToken} bytes`, scheme }
  return { token, scheme }
}
