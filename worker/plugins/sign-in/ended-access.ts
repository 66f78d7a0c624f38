/**
 * Access that has ended. Another browser of the user may still remember an approval, or wait at the provider after one: the app must not get
 * access again without a question. Tasks and subscriptions from before must not go on with the access that it gets then.
 */
import type { AuthRequest } from '@cloudflare/workers-oauth-provider'
import { encodeBase64url } from '../../protocol/base64url.ts'
import { sha256 } from '../../sealing/sha256.ts'
import { type ObjectOf, paths } from './authorization-server.ts'

/** Milliseconds that two steps take at most: two visits to providers, or a visit and the account page, have 10 minutes each. */
const twoStepsMs = 20 * 60_000

export class EndedAccess {
  readonly #objectOf: ObjectOf
  readonly #key: Promise<string>

  constructor(objectOf: ObjectOf, userId: string, clientId: string) {
    this.#objectOf = objectOf
    this.#key = sha256(clientId).then((hash) => `ended:${userId}:${encodeBase64url(hash)}`)
  }

  /** The access that ended last, of whichever client: a grant that is being created is not among those that are ended. */
  static ofAnyClient(objectOf: ObjectOf, userId: string): EndedAccess {
    return new EndedAccess(objectOf, userId, '')
  }

  /** The end of all access: an approval from before counts for no client, also for one without a grant. */
  static ofAllClients(objectOf: ObjectOf, userId: string): EndedAccess {
    return new EndedAccess(objectOf, userId, '*')
  }

  /** The end of one grant: other grants of its client, and approvals, still count. @param key of the grant */
  static ofOneGrant(objectOf: ObjectOf, userId: string, key: string): EndedAccess {
    return new EndedAccess(objectOf, userId, key)
  }

  /** The end of a grant that was the only one of its client for a tenant. */
  static ofLastGrant(objectOf: ObjectOf, userId: string, clientId: string, tenant: string | undefined): EndedAccess {
    return new EndedAccess(objectOf, userId, JSON.stringify([clientId, tenant]))
  }

  /** Returns when the access of a client was ended, alone or with all others, in milliseconds since 1970; 0 if it was not. */
  static async ofGrant(objectOf: ObjectOf, userId: string, clientId: string): Promise<number> {
    const ends = [EndedAccess.ofAllClients(objectOf, userId), new EndedAccess(objectOf, userId, clientId)]
    return Math.max(...(await Promise.all(ends.map((end) => end.time()))))
  }

  /**
   * Returns when the access of a client last ended as far as is known, in milliseconds since 1970: what was stored then, or before, may not go on
   * with another grant. An end that is no longer remembered may be as late as its memory is long.
   */
  static async ofStored(objectOf: ObjectOf, userId: string, clientId: string, rememberMs: number): Promise<number> {
    const endedAt = await EndedAccess.ofGrant(objectOf, userId, clientId)
    return Math.max(endedAt, Date.now() - twoStepsMs - rememberMs)
  }

  /** Returns when the user ended the access of the client, in milliseconds since 1970; 0 if no approval from before can be used. */
  async time(): Promise<number> {
    const key = await this.#key
    return Number((await this.#objectOf(key).read(key)) ?? 0)
  }

  /** @param rememberMs milliseconds for which browsers remember an approval */
  async store(rememberMs: number): Promise<void> {
    const key = await this.#key
    await this.#objectOf(key).write(key, `${Date.now()}`, undefined, Date.now() + twoStepsMs + rememberMs)
  }
}

/** Returns the URL of the authorization page that asks the user for a request, whatever the browser remembers. */
export function consentUrl(origin: string, request: AuthRequest): URL {
  const { responseType, clientId, redirectUri, scope, state, codeChallenge, codeChallengeMethod, resource } = request
  const url = new URL(paths.authorize, origin)
  const params = {
    response_type: responseType,
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: scope.join(' '),
    state,
    code_challenge: codeChallenge,
    code_challenge_method: codeChallengeMethod,
    resource,
    prompt: 'consent',
  }
  for (const [name, value] of Object.entries(params)) if (value) url.searchParams.set(name, value)
  return url
}
