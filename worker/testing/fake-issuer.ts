/** An authorization server that signs whatever it is asked to, for servers whose checks are the real ones. */
import { exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from 'jose'
import type { Token } from '../client/connection.ts'
import type { Params } from '../protocol/types.ts'

export interface FakeIssuer {
  /** `iss` of its tokens: for `bearer({ issuer })`. */
  readonly issuer: string
  /** Its public keys: for `bearer({ issuer, keys })`, where nothing is to be fetched. */
  readonly keys: JSONWebKeySet
  /**
   * A token for whatever server it is sent to: `connect(server, { token: tokenFor({ sub: 'ada' }) })`. It is good for ten
   * minutes, and the claims say what else it says: one of `iss`, `aud` or `exp` that is wrong makes a token to be refused.
   */
  tokenFor(claims: UserClaims): Token
  /** Its metadata and keys, as it would publish them. `undefined`: it has nothing there. */
  respond(url: string | URL): Response | undefined
}

/** `scope` is a text with spaces; `exp` is in seconds. */
export type UserClaims = Params & { sub: string; scope?: string }

const keyId = 'edgemcp-testing'
const algorithm = 'ES256'

/** @param issuer its name: an https URL, or http on this machine */
export async function fakeIssuer(issuer: string): Promise<FakeIssuer> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm)
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: keyId, alg: algorithm, use: 'sig' }] }
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const jwks = `${origin}${path}/jwks`
  const published: Readonly<Record<string, unknown>> = {
    [`${origin}/.well-known/oauth-authorization-server${path}`]: { issuer, jwks_uri: jwks },
    [`${origin}${path}/.well-known/openid-configuration`]: { issuer, jwks_uri: jwks },
    [jwks]: keys,
  }
  return {
    issuer,
    keys,
    tokenFor: (claims) => (resource) => {
      const now = Math.floor(Date.now() / 1000)
      const usual = { iss: issuer, aud: resource, client_id: 'edgemcp-testing', iat: now, exp: now + 600 }
      return new SignJWT({ ...usual, ...claims })
        .setProtectedHeader({ alg: algorithm, kid: keyId, typ: 'at+jwt' })
        .sign(privateKey)
    },
    respond(url) {
      const found = published[new URL(url).href]
      return found === undefined ? undefined : Response.json(found)
    },
  }
}
