/** The grants of a user: which apps have access. The account page and the operator list and end them. */
import type { GrantSummary, OAuthHelpers } from '@cloudflare/workers-oauth-provider'
import type { StoredKey } from '../../../durable-objects/rpc.ts'
import type { ObjectOf } from './authorization-server.ts'
import { EndedAccess } from './ended-access.ts'

/** Names a user: `ctx.principal`, or its subject where `signIn()` has an `origin`. */
export type SignedInUser = string | { readonly issuer: string; readonly subject: string }

/** Describes the access of an app. Times are milliseconds since 1970. */
export type Grant = {
  /** Identifies the grant among those of the user. */
  readonly id: string
  /** The client: the id that it was registered with, or the URL of its metadata document. */
  readonly clientId: string
  /** Scopes that the user approved. */
  readonly scopes: readonly string[]
  /** When the user signed in. */
  readonly createdAt: number
  /** When the refresh token expires; `undefined` for a sign-in whose code the client has not exchanged. */
  readonly expiresAt?: number | undefined
}

/** Lists and ends the access of users: in handlers, and in any code of the Worker once `serve()` was called. */
export interface GrantManager {
  /** Returns the access that apps have as a user, the oldest first. @throws Error for an invalid argument */
  grants(user: SignedInUser): Promise<readonly Grant[]>
  /**
   * Ends all access that apps have as a user, and deletes the tokens of the user for APIs of providers. Isolates that have verified an access
   * token accept it for up to `tokenCacheMs`. The user may sign in again: `allow` refuses a user.
   *
   * @returns how many grants have ended
   * @throws Error for an invalid argument
   */
  signOut(user: SignedInUser): Promise<number>
}

/** Milliseconds after which a grant that is listed was stored. */
const storedMs = 60_000

export class UserGrants {
  readonly #oauth: OAuthHelpers
  readonly #objectOf: ObjectOf
  readonly #endedSeconds: number

  /** @param endedSeconds for which the end of access is remembered: as long as approvals and grants last */
  constructor(oauth: OAuthHelpers, objectOf: ObjectOf, endedSeconds: number) {
    this.#oauth = oauth
    this.#objectOf = objectOf
    this.#endedSeconds = endedSeconds
  }

  async list(userId: string): Promise<readonly GrantSummary[]> {
    const { items } = await this.#oauth.listUserGrants(userId)
    return items.sort((one, other) => one.createdAt - other.createdAt)
  }

  /**
   * Ends all grants of a user, and what was started before: sign-ins, approvals, and pages of this server.
   *
   * @returns how many grants have ended
   */
  async endAll(userId: string): Promise<number> {
    await EndedAccess.ofAllClients(this.#objectOf, userId).store(this.#endedSeconds * 1000)
    return this.#end(userId, () => true)
  }

  /** Ends the access of a client, which does not get access again without a question, also if it has no grant now. */
  async endClient(userId: string, clientId: string): Promise<void> {
    await this.#ended(userId, clientId)
    await this.#end(userId, (grant) => grant.clientId === clientId)
  }

  #ended(userId: string, clientId: string): Promise<void> {
    return new EndedAccess(this.#objectOf, userId, clientId).store(this.#endedSeconds * 1000)
  }

  /** @returns how many grants have ended */
  async #end(userId: string, isMeant: (grant: GrantSummary) => boolean): Promise<number> {
    // Before they are listed: a sign-in that creates a grant afterwards reads it.
    await EndedAccess.ofAnyClient(this.#objectOf, userId).store(0)
    const user = this.#objectOf(`user:${userId}`)
    const entries = await user.list(`grant:${userId}:`)
    const grants = await this.list(userId)
    const ids = new Set(grants.map(({ id }) => id))
    // An end that was interrupted has left the entry of a grant that is gone. The tokens of providers stay until the last entry is deleted.
    const isLeft = ({ name, metadata }: StoredKey) =>
      !ids.has(name.split(':')[2] ?? '') && Number(metadata) + storedMs < Date.now()
    const meant = grants.filter(isMeant)
    const endOne = async ({ id, clientId }: GrantSummary) => {
      await this.#ended(userId, clientId)
      await this.#oauth.revokeGrant(id, userId)
    }
    const left = entries.filter(isLeft)
    await Promise.all([...meant.map(endOne), ...left.map(({ name }) => user.remove(name))])
    return meant.length
  }
}

/**
 * Returns the issuer and the subject of a user.
 *
 * @param origin of `signIn()`
 * @throws Error for a user without a subject, and for one of another issuer
 */
export function readUser(user: SignedInUser, origin: string | undefined): { issuer: string; subject: string } {
  const { issuer, subject }: { issuer?: unknown; subject?: unknown } =
    typeof user === 'string' ? { issuer: origin, subject: user } : Object(user)
  // What `userIdOf` returns.
  if (typeof subject !== 'string' || !/^[a-z\d][a-z\d-]*\.[\w.~-]{1,512}$/.test(subject)) {
    throw new Error(`The subject ${JSON.stringify(subject)} names no user: pass ctx.principal, or its subject`)
  }
  if (
    typeof issuer !== 'string' ||
    URL.parse(issuer)?.origin !== issuer ||
    (origin !== undefined && issuer !== origin)
  ) {
    const expected =
      origin === undefined ? 'the origin of the Worker, such as "https://mcp.example.com"' : `"${origin}"`
    throw new Error(`The issuer of a user must be ${expected}, not ${JSON.stringify(issuer)}: pass ctx.principal`)
  }
  return { issuer, subject }
}
