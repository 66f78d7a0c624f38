import { decodeJwt, decodeProtectedHeader, importJWK, type JWK, SignJWT } from 'jose'

/** A token as its issuer would have made it, but for the second it expires at. */
export async function expiringAt(exp: number, token: string, key: JWK): Promise<string> {
  const { alg, kid, typ } = decodeProtectedHeader(token)
  return new SignJWT({ ...decodeJwt(token), iat: exp - 600, exp })
    .setProtectedHeader({ alg: alg as string, kid: kid as string, typ: typ as string })
    .sign(await importJWK(key))
}
