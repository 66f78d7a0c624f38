/** The key with which an issuer or a provider of tests signs. */
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'

export type SigningKey = {
  readonly privateKey: CryptoKey
  readonly publicKey: JWK
  /** The header of what it signs. */
  readonly header: { readonly alg: string; readonly kid: string }
}

/** The algorithm of each key. */
export const algorithm = 'ES256'

export async function newSigningKey(): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm)
  const jwk = await exportJWK(publicKey)
  // A server that has the keys of an earlier process must not take one of them for this key: it reads the keys again for an unknown id only.
  const header = { alg: algorithm, kid: await calculateJwkThumbprint(jwk) }
  return { privateKey, publicKey: { ...jwk, ...header, use: 'sig' }, header }
}
