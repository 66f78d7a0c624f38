/** A fake authorization server that signs any claims. The server under test verifies its tokens as those of a real one. */
import { type JSONWebKeySet, SignJWT } from 'jose'
import type { Token } from '../client/connection.ts'
import type { Params } from '../protocol/types.ts'
import { newSigningKey, type SigningKey } from './signing-key.ts'

/** Issues tokens for tests. `fakeIssuer()` and `startIssuer()` return it. */
export interface FakeIssuer {
  /** `iss` of its tokens, for `bearer({ issuer })`. */
  readonly issuer: string
  /** Its public keys, for `bearer({ issuer, keys })` without requests. */
  readonly keys: JSONWebKeySet
  /**
   * Returns a function that makes a token for a server: `connect(server, { token: tokenFor({ sub: 'ada' }) })`. The token expires after 10
   * minutes. To test rejections, pass a wrong `iss`, `aud` or `exp`.
   */
  tokenFor(claims: UserClaims): Token
  /** Returns its metadata or its keys, for requests to the issuer; `undefined` for other URLs. */
  respond(url: string | URL): Response | undefined
}

/**
 * Describes the claims of a token: `sub`, `scope` as a text with spaces, `exp` in seconds, and others.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9068#section-2.2
 */
export type UserClaims = Params & {
  /** Subject of the token. */
  sub: string
  /** Scopes of the token, with spaces between them. Default: none. */
  scope?: string
}

/**
 * The key of each issuer URL. A server reads the keys of an issuer again after 30 seconds at the earliest, so all issuers with one URL sign
 * with the same key.
 */
const signingKeys = new Map<string, SigningKey>()

/**
 * Creates an authorization server without an address, which signs any claims. In one process, issuers with the same URL have the same keys, so
 * a server that read the keys of one accepts the tokens of the other.
 *
 * @param issuer its identifier: an https URL, or http on this machine
 * @see https://www.rfc-editor.org/rfc/rfc9068
 *
 * @example
 * const { issuer, keys, tokenFor } = await fakeIssuer('https://issuer.example')
 * const worker = serve(server, { auth: bearer({ issuer, keys }) })
 * const client = await connect(worker, { revision: '2025-11-25', token: tokenFor({ sub: 'ada', scope: 'notes:read' }) })
 */
export async function fakeIssuer(issuer: string): Promise<FakeIssuer> {
  const { privateKey, publicKey, header } = await keyOf(issuer)
  const keys = { keys: [publicKey] }
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
      return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ ...header, typ: 'at+jwt' }).sign(privateKey)
    },
    respond(url) {
      const found = published[new URL(url).href]
      return found === undefined ? undefined : Response.json(found)
    },
  }
}

async function keyOf(issuer: string): Promise<SigningKey> {
  const known = signingKeys.get(issuer)
  if (known) return known
  const generated = await newSigningKey()
  // Another call may have stored a key meanwhile: the first one counts.
  const first = signingKeys.get(issuer) ?? generated
  signingKeys.set(issuer, first)
  return first
}
