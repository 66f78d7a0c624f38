/** The grants of a user: which apps have access. The account page and the operator list and end them. */
import type { GrantSummary, OAuthHelpers } from '@cloudflare/workers-oauth-provider'
import type { ListedGrant, StoredKey } from '../../../durable-objects/sign-in/rpc.ts'
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

/** What is read here of a grant that the library wrote. */
type StoredGrant = Pick<GrantSummary, 'id' | 'clientId'>

/** Milliseconds after which a grant that is listed was stored. */
const storedMs = 60_000

/** Grants that are read and ended at the same time. Those are gone when one of the next ones fails, so that another call ends more. */
const pageSize = 10

export class UserGrants {
  readonly #oauth: OAuthHelpers
  readonly #objectOf: ObjectOf
  readonly #endedMs: number

  /** @param endedMs milliseconds for which the end of access is remembered: as long as approvals and grants last */
  constructor(oauth: OAuthHelpers, objectOf: ObjectOf, endedMs: number) {
    this.#oauth = oauth
    this.#objectOf = objectOf
    this.#endedMs = endedMs
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
    await EndedAccess.ofAllClients(this.#objectOf, userId).store(this.#endedMs)
    return this.#end(userId, () => true)
  }

  /** Ends the access of a client, which does not get access again without a question, also if it has no grant now. */
  async endClient(userId: string, clientId: string): Promise<void> {
    await new EndedAccess(this.#objectOf, userId, clientId).store(this.#endedMs)
    await this.#end(userId, (grant) => grant.clientId === clientId)
  }

  /** @returns how many grants have ended */
  async #end(userId: string, isMeant: (grant: StoredGrant) => boolean): Promise<number> {
    // Before they are listed: a sign-in that creates a grant afterwards reads it.
    await EndedAccess.ofAnyClient(this.#objectOf, userId).store(0)
    const user = this.#objectOf(`user:${userId}`)
    let ended = 0
    const endIfMeant = async ({ name, metadata }: StoredKey) => {
      const { since }: ListedGrant = Object(metadata)
      const grant: StoredGrant | null = JSON.parse((await this.#objectOf(name).read(name)) ?? 'null')
      if (grant && isMeant(grant)) {
        await this.#oauth.revokeGrant(grant.id, userId)
        ended += 1
      }
      // An end that was interrupted has left the entry of a grant that is gone. The tokens of providers stay until the last entry is deleted.
      if (!grant && since + storedMs < Date.now()) await user.remove(name)
    }
    const entries = await user.list(`grant:${userId}:`)
    for (let from = 0; from < entries.length; from += pageSize) {
      await Promise.all(entries.slice(from, from + pageSize).map(endIfMeant))
    }
    return ended
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
    throw new Error(
      `The issuer of a user must be ${expected}, not ${JSON.stringify(issuer)}: pass ctx.principal, { issuer, subject }, or the subject alone if signIn() has the option origin`,
    )
  }
  return { issuer, subject }
}
