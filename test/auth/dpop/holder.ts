/** A client with a key, that makes proofs as RFC 9449 wants them, or otherwise. */
import { createHash, randomUUID } from 'node:crypto'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

export type ProofOptions = {
  /** Members of the header; `undefined` leaves one out. */
  header?: Record<string, unknown>
  /** Claims; `undefined` leaves one out. */
  claims?: Record<string, unknown>
  method?: string
  /** What `ath` is the hash of. */
  token?: string | undefined
  /** Signs in the place of the key in the header. */
  signer?: CryptoKey | Uint8Array
}

export class Holder {
  readonly alg: string
  readonly jwk: JWK
  readonly privateJwk: JWK
  readonly privateKey: CryptoKey
  readonly jkt: string

  private constructor(parts: Pick<Holder, 'alg' | 'jwk' | 'privateJwk' | 'privateKey' | 'jkt'>) {
    this.alg = parts.alg
    this.jwk = parts.jwk
    this.privateJwk = parts.privateJwk
    this.privateKey = parts.privateKey
    this.jkt = parts.jkt
  }

  static async create(alg = 'ES256'): Promise<Holder> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
    const jwk = await exportJWK(publicKey)
    const jkt = await calculateJwkThumbprint(jwk)
    return new Holder({ alg, jwk, privateJwk: await exportJWK(privateKey), privateKey, jkt })
  }

  /** The claim that binds a token to the key. */
  get bound() {
    return { cnf: { jkt: this.jkt } }
  }

  proof(url: URL | string, { header, claims, method = 'POST', token, signer }: ProofOptions = {}): Promise<string> {
    const htu = new URL(url)
    htu.search = htu.hash = ''
    const payload = {
      jti: randomUUID(),
      htm: method,
      htu: htu.href,
      iat: Math.floor(Date.now() / 1000),
      ...(token !== undefined && { ath: createHash('sha256').update(token).digest('base64url') }),
      ...claims,
    }
    const protectedHeader = { alg: this.alg, typ: 'dpop+jwt', jwk: this.jwk, ...header }
    return new SignJWT(JSON.parse(JSON.stringify(payload)))
      .setProtectedHeader(JSON.parse(JSON.stringify(protectedHeader)))
      .sign(signer ?? this.privateKey)
  }

  /** The headers of a request with a bound token. */
  async headers(url: URL | string, token: string, options: ProofOptions = {}): Promise<Record<string, string>> {
    return { Authorization: `DPoP ${token}`, DPoP: await this.proof(url, { token, ...options }) }
  }
}
