/** An authorization server whose tokens are accepted, and the verification of its JWTs. */
import {
  createLocalJWKSet,
  decodeProtectedHeader,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  jwtVerify,
  type LocalJWKSet,
} from 'jose'
import * as errors from 'jose/errors'
import { McpError } from '../../protocol/errors.ts'
import type { Params } from '../../protocol/types.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import { BadToken } from './bad-token.ts'
import type { TokenClaims } from './claims.ts'
import { type Fetch, safeUrl } from './fetch-json.ts'
import { Introspection, type IntrospectionOptions } from './introspection.ts'
import { IssuerDocuments } from './issuer-keys-and-metadata.ts'

/** Configures one authorization server. */
export type IssuerOptions = {
  /** The claim `iss` of its tokens, exactly: an https URL, or http on this machine. */
  issuer: string
  /** Keys of the issuer, or their URL. Default: `jwks_uri` of its metadata. */
  keys?: string | JSONWebKeySet
  /**
   * Accepted values of `aud`; `false` accepts all, for an issuer that issues tokens for this server only. Default: the URL of the endpoint.
   *
   * @see https://www.rfc-editor.org/rfc/rfc8707
   */
  audience?: string | readonly string[] | false
  /** Accepted values of `alg`. Default: all asymmetric ones. */
  algorithms?: readonly Algorithm[]
  /** Verifies tokens that are not JWTs. Default: such tokens are rejected. */
  introspection?: IntrospectionOptions
}

export const asymmetric = [
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
] as const

/**
 * Names an asymmetric signature algorithm of JWTs.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7518#section-3.1
 */
export type Algorithm = (typeof asymmetric)[number]

export type Expected = {
  /** URLs of this server. */
  readonly audience: readonly string[]
  /** Seconds by which clocks may differ. */
  readonly clockTolerance: number
}

export class Issuer {
  readonly name: string
  readonly introspection: Introspection | undefined
  readonly #options: IssuerOptions
  readonly #documents: IssuerDocuments
  readonly #keySets = new WeakMap<JSONWebKeySet, LocalJWKSet>()

  /** @throws Error with one sentence that names the fix */
  constructor(options: IssuerOptions, fetch: Fetch) {
    const { issuer, keys, algorithms = asymmetric, introspection } = options
    for (const algorithm of algorithms) {
      if (!asymmetric.includes(algorithm)) {
        throw new Error(
          `The algorithm "${algorithm}" is symmetric, but the keys of issuers are public: use ${asymmetric.join(', ')}`,
        )
      }
    }
    if (typeof keys === 'object' && keys.keys.some(({ kty, d }) => kty === 'oct' || d !== undefined)) {
      throw new Error(`The keys of ${issuer} must be public: remove private and secret keys`)
    }
    if (introspection?.url !== undefined) safeUrl(introspection.url, 'The url of introspection', issuer)
    else if (introspection && keys !== undefined) {
      throw new Error(`The introspection of ${issuer} needs a url: with keys, bearer() does not read the metadata`)
    }
    this.name = issuer
    this.#options = options
    this.#documents = new IssuerDocuments({ issuer, keysUrl: typeof keys === 'string' ? keys : undefined, fetch })
    this.introspection = introspection && new Introspection(introspection, fetch)
  }

  /**
   * @returns the claims of a JWT of this issuer
   * @throws BadToken; McpError `unavailable` when its keys cannot be fetched
   */
  async verify(token: string, expected: Expected, serverInfo: ServerInfo): Promise<TokenClaims> {
    const audience = this.audience(expected)
    const settings = {
      issuer: this.name,
      ...(audience && { audience: [...audience] }),
      algorithms: [...(this.#options.algorithms ?? asymmetric)],
      clockTolerance: expected.clockTolerance,
      requiredClaims: ['exp'],
    }
    const verified = (key: JWTVerifyGetKey) => jwtVerify(token, key, settings)
    const verifiedBySome = (isRenewed: boolean) =>
      verified(this.#keyFor(serverInfo, isRenewed)).catch(async (problem) => {
        if (!(problem instanceof errors.JWKSMultipleMatchingKeys)) throw problem
        // A token that does not say which key it was signed with.
        for await (const key of problem) {
          const result = await verified(async () => key).catch((candidate) => {
            if (!(candidate instanceof errors.JWSSignatureVerificationFailed)) throw candidate
          })
          if (result) return result
        }
        throw new errors.JWSSignatureVerificationFailed()
      })
    try {
      const { payload, protectedHeader } = await verifiedBySome(false).catch((problem) => {
        // That keys without names have been replaced shows in nothing else.
        const isUnnamed = decodeProtectedHeader(token).kid === undefined
        if (!(problem instanceof errors.JWSSignatureVerificationFailed) || !isUnnamed) throw problem
        return verifiedBySome(true)
      })
      checkType(protectedHeader.typ)
      return payload
    } catch (problem) {
      if (problem instanceof McpError || problem instanceof BadToken) throw problem
      throw new BadToken(sentenceFor(problem, audience))
    }
  }

  /** Returns the published metadata; `undefined` if the options contain the keys. */
  async metadata(serverInfo: ServerInfo): Promise<Readonly<Params> | undefined> {
    return this.#options.keys === undefined
      ? JSON.parse((await this.#documents.current(serverInfo)).metadata)
      : undefined
  }

  /** Returns the accepted audiences; `undefined` accepts all. */
  audience({ audience }: Expected): readonly string[] | undefined {
    const own = this.#options.audience
    if (own === false) return undefined
    return own === undefined ? audience : [own].flat()
  }

  /** Returns the URL of the introspection endpoint. */
  async introspectionUrl(serverInfo: ServerInfo): Promise<string> {
    const url = this.#options.introspection?.url ?? (await this.metadata(serverInfo))?.introspection_endpoint
    if (typeof url !== 'string')
      throw new Error(`The metadata of ${this.name} has no introspection_endpoint: give introspection a url`)
    return safeUrl(url, 'The introspection_endpoint', this.name)
  }

  #keyFor(serverInfo: ServerInfo, isRenewed: boolean): JWTVerifyGetKey {
    return async (header, jws) => {
      const { keys } = this.#options
      if (typeof keys === 'object') return this.#keySet(keys)(header, jws)
      const answered = <T>(fetched: Promise<T>) =>
        fetched.catch((problem: unknown) => {
          throw problem instanceof McpError ? problem : unavailable(problem)
        })
      const { reads } = this.#documents
      const document = await answered(this.#documents.current(serverInfo))
      try {
        if (!isRenewed) return await this.#keySet(document.keys)(header, jws)
      } catch (problem) {
        // Keys that were read for this request are the newest.
        if (!(problem instanceof errors.JWKSNoMatchingKey) || this.#documents.reads > reads) throw problem
      }
      const renewed = await answered(this.#documents.renewed(document, header.kid, serverInfo))
      return this.#keySet(renewed.keys)(header, jws)
    }
  }

  /** Imports each key set once. */
  #keySet(keys: JSONWebKeySet): LocalJWKSet {
    const localKeys = this.#keySets.get(keys) ?? createLocalJWKSet(keys)
    this.#keySets.set(keys, localKeys)
    return localKeys
  }
}

export const unavailable = (cause: unknown): McpError =>
  Object.assign(
    new McpError('unavailable', 'The authorization server does not answer: try again later', undefined, {
      'Retry-After': '5',
    }),
    { cause },
  )

/** Rejects tokens of other kinds, such as logout tokens, which are signed with the same keys. RFC 8725, section 3.11. */
function checkType(typ: unknown): void {
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ
  if (type !== undefined && type !== 'jwt' && type !== 'at+jwt') throw new BadToken('The token is not an access token')
}

function sentenceFor(problem: unknown, audience: readonly string[] | undefined): string {
  if (problem instanceof errors.JWTExpired) return 'The token has expired'
  if (problem instanceof errors.JWTClaimValidationFailed) {
    if (problem.claim === 'aud') return `The token is for a different audience: this server accepts ${audience?.[0]}`
    if (problem.claim === 'nbf') return 'The token is not valid yet'
    return `The claim ${problem.claim} of the token is missing or invalid`
  }
  if (problem instanceof errors.JOSEAlgNotAllowed) return 'The signature algorithm of the token is not accepted'
  if (problem instanceof errors.JWKSNoMatchingKey)
    return 'The issuer of the token does not publish the key that signed it'
  if (problem instanceof errors.JWSSignatureVerificationFailed) return 'The signature of the token is invalid'
  return 'The token is malformed'
}
