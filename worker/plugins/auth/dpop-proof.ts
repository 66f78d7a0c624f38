/**
 * DPoP proofs: signed statements of a client that it has the private key of its token, made for one request.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9449#section-4.3
 */
import { calculateJwkThumbprint, decodeProtectedHeader, EmbeddedJWK, type JWK, jwtVerify } from 'jose'
import * as errors from 'jose/errors'
import { encodeBase64url } from '../../protocol/base64url.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import { sha256 } from '../../sealing/sha256.ts'
import { BadToken } from './bad-token.ts'

/** A proof is invalid, or needs a nonce. The message is a sentence for the client, and becomes a 401. */
export class BadProof extends Error {
  readonly code: 'invalid_dpop_proof' | 'use_dpop_nonce'
  /** The nonce that the next proof needs. */
  readonly nonce: string | undefined

  constructor(message: string, nonce?: string) {
    super(message)
    this.code = nonce === undefined ? 'invalid_dpop_proof' : 'use_dpop_nonce'
    this.nonce = nonce
  }
}

/** Characters of a proof. One with a signature and a key of RSA with 4,096 bits has about 2,000. */
const longestProof = 8_192
/** Characters of `jti`. */
const longestId = 256

/** Seconds by which clocks may differ, for `exp` and `nbf`, which a proof need not have. */
const clockTolerance = 30

/** Members of private and secret keys. */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

/**
 * Returns the proof of a request, unverified.
 *
 * @throws BadProof without a proof, or with several
 */
export function readProof({ headers }: Request): string {
  const proof = headers.get('DPoP')
  if (proof === null) throw new BadProof('The header DPoP is missing: send a proof with each request')
  if (proof.length > longestProof)
    throw new BadProof(`The header DPoP is too long: a proof has at most ${longestProof} characters`)
  // Two headers arrive as one, with a comma that no proof has.
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(proof)) throw new BadProof('The header DPoP must be one JWT')
  return proof
}

export type Proof = { readonly jti: string /** Seconds. */; readonly iat: number; readonly nonce: unknown }

/** What a proof has to state. */
export type ExpectedProof = {
  /** Thumbprint of the key that the token is bound to. */
  readonly thumbprint: string
  readonly token: string
  readonly method: string
  /** URLs of the request. */
  readonly urls: readonly string[]
  readonly algorithms: readonly string[]
  readonly maxAgeMs: number
}

/**
 * Verifies a proof. Its key is compared with that of the token first, so signatures of other keys cost nothing.
 *
 * @throws BadProof; BadToken when the token is bound to another key
 */
export async function verifyProof(proof: string, expected: ExpectedProof): Promise<Proof> {
  const thumbprint = await calculateJwkThumbprint(keyOf(proof, expected.algorithms)).catch(() => {
    throw new BadProof('The header jwk of the DPoP proof is not a valid public key')
  })
  if (thumbprint !== expected.thumbprint)
    throw new BadToken('The token is bound to another key than that of the DPoP proof')
  const { htm, htu, ath, iat, jti, nonce } = await verifiedClaims(proof, expected)
  if (htm !== expected.method) throw new BadProof(`The claim htm of the DPoP proof must be ${expected.method}`)
  const url = typeof htu === 'string' ? normalizedUrl(htu) : undefined
  if (url === undefined || !expected.urls.some((own) => normalizedUrl(own) === url))
    throw new BadProof(`The claim htu of the DPoP proof must be ${normalizedUrl(expected.urls[0] ?? '')}`)
  if (ath !== encodeBase64url(await sha256(expected.token)))
    throw new BadProof('The claim ath of the DPoP proof must be the SHA-256 of the token, as base64url')
  if (typeof iat !== 'number' || !(Math.abs(Date.now() - iat * 1000) <= expected.maxAgeMs))
    throw new BadProof(
      'The claim iat of the DPoP proof is too far from the time of the server: make a proof for each request',
    )
  if (typeof jti !== 'string' || jti === '' || jti.length > longestId)
    throw new BadProof(`The claim jti of the DPoP proof must be a string of 1 to ${longestId} characters`)
  return { jti, iat, nonce }
}

/** Returns the public key of a proof. @throws BadProof for another kind of JWT */
function keyOf(proof: string, algorithms: readonly string[]): JWK {
  const { typ, alg = '', jwk } = headerOf(proof)
  if (typ !== 'dpop+jwt') throw new BadProof('The header typ of the DPoP proof must be dpop+jwt')
  if (!algorithms.includes(alg))
    throw new BadProof(`The header alg of the DPoP proof must be one of ${algorithms.join(' ')}`)
  if (!isObject(jwk)) throw new BadProof('The header jwk of the DPoP proof must be the public key')
  if (privateMembers.some((name) => name in jwk))
    throw new BadProof('The header jwk of the DPoP proof contains a private key: replace this key')
  return jwk
}

function headerOf(proof: string) {
  try {
    return decodeProtectedHeader(proof)
  } catch {
    throw new BadProof('The DPoP proof is malformed')
  }
}

async function verifiedClaims(proof: string, { algorithms }: ExpectedProof) {
  try {
    return (await jwtVerify(proof, EmbeddedJWK, { algorithms: [...algorithms], clockTolerance })).payload
  } catch (problem) {
    if (problem instanceof errors.JWSSignatureVerificationFailed)
      throw new BadProof('The signature of the DPoP proof is invalid')
    if (problem instanceof errors.JWTExpired)
      throw new BadProof('The DPoP proof has expired: make one for each request')
    // The curve or size of the key does not fit its algorithm, or a claim has the wrong type.
    throw new BadProof('The DPoP proof is malformed')
  }
}

/**
 * Returns a URL without query and fragment, in normal form; `undefined` for another text.
 *
 * @see https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2
 */
function normalizedUrl(text: string): string | undefined {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined
  // The parser has normalized everything but percent-encoded characters.
  const path = url.pathname.replace(/%[\da-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
    return /[\w.~-]/.test(character) ? character : encoded.toUpperCase()
  })
  return url.origin + path
}
