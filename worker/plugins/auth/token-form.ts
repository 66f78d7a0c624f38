/** What the form of a bearer token tells, before it is verified. */
import { decodeJwt } from 'jose'

/** Returns `iss` of a token, unverified; `undefined` for a token that is not a JWT. */
export function issuerIn(token: string): { readonly iss: unknown } | undefined {
  if (token.split('.').length !== 3) return undefined
  try {
    return { iss: decodeJwt(token).iss }
  } catch {
    return undefined
  }
}
