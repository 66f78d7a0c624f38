/**
 * What sign-in stores: grants and their tokens, registered clients, and values that are used once. Each has an object of its own, whose
 * name tells its authorization server (origin and identity of the endpoint), and what it stores. The keys, values and metadata are those of `@cloudflare/workers-oauth-provider`, which stores hashes of tokens, and
 * encrypts the properties of a grant with keys that only its tokens unwrap.
 *
 * | object                 | key                            | meaning                                     | lifetime              |
 * |------------------------|--------------------------------|---------------------------------------------|-----------------------|
 * | `grant:<user>:<grant>` | `grant:<user>:<grant>`         | a grant                                     | `expires`, by alarm   |
 * |                        | `token:<user>:<grant>:<hash>`  | an access token of the grant                | `expires`, by alarm   |
 * |                        | `refresh`                      | the response to the last refresh: see `last-refresh.ts` | the grant |
 * |                        | `issued`                       | hashes of its refresh tokens: see `issued-refresh-tokens.ts` | the grant |
 * |                        | `decided`                      | who the user is and which scopes the client may have, as the last refresh decided, sealed | the grant |
 * | `user:<user>`          | `grant:<user>:<grant>`         | each grant of the user, with a `ListedGrant` as metadata; the value is the name of the object `upstream:<user>` | that of the grant |
 * |                        | `storing:<uuid>`               | tokens that a request stores in the object `upstream:<user>`, which is the value | the request, or an hour |
 * | `upstream:<user>`      | `tokens:<entry>`               | tokens for the API of a provider, sealed: see `TokensName` | the grants of the user |
 * |                        | `refreshing:<entry>`           | when a refresh was sent, in milliseconds since 1970 | until its answer |
 * | `client:<id>`          | `client:<id>`                  | a registered client                         | `expires`, by alarm   |
 * | `ended:<user>:<hash>`  | the same                       | the end of a grant, or of all access of a client or of any: see `ended-access.ts` | longer than approvals are remembered |
 * | `transaction:<hash>`   | `transaction:<hash>`           | a consent page, or a visit to the provider  | 10 minutes            |
 * | `<kind>-jti:<id>`      | `<kind>-jti:<id>`              | an assertion that was used                  | longer than the assertion |
 */
import { DurableObject } from 'cloudflare:workers'
import { hex } from '../../worker/protocol/hex.ts'
import { sha256 } from '../../worker/sealing/sha256.ts'
import { Alarms } from '../shared/alarms.ts'
import { Schema } from '../shared/schema.ts'
import { IssuedRefreshTokens } from './issued-refresh-tokens.ts'
import { LastRefresh } from './last-refresh.ts'
import { migrations } from './migrations.ts'
import type {
  EntryStorage,
  KeptTokens,
  ListedGrant,
  OAuthSite,
  ProviderName,
  SignInRpc,
  StoredGrant,
  StoredKey,
  TokensName,
  UpstreamAnswer,
  UserAnswer,
} from './rpc.ts'
import { upstreamWithoutGrants } from './sign-out.ts'
import { type ProviderCalls, type UpstreamHost, UpstreamTokens } from './upstream-tokens.ts'

/** A stored value. `expires`: milliseconds since 1970; `undefined`: never. */
type Entry = { readonly value: string; readonly metadata?: unknown; readonly expires?: number | undefined }

/** The grant of an object, by its key, and its storage for a request that has its turn. */
export type OwnGrant = { readonly key: string; readonly storage: EntryStorage }

/** What the object needs of the plugin that made its class. */
export interface SignInHost extends UpstreamHost {
  /** Returns the provider of tokens; `undefined` if this isolate runs another deployment, which does not have it. */
  find(of: TokensName): ProviderCalls | undefined
  /**
   * Called before the last grant of a user is deleted, and when tokens of a user without grants may have been stored.
   *
   * @param upstream name of the object with the upstream tokens of the user
   */
  signOut(upstream: string): Promise<void>
  /** Answers a request of a client to the token endpoint. @param providers those of the endpoint that received it */
  answer(request: Request, site: OAuthSite, own: OwnGrant, providers: readonly ProviderName[]): Promise<Response>
  /** Ends the grant of the object in which it runs. */
  endGrant(site: OAuthSite, own: OwnGrant): Promise<void>
  /**
   * Ends grants of a user, before their entries are deleted.
   *
   * @param upstream name of the object with the upstream tokens of the user
   */
  endGrants(upstream: string, keys: readonly string[]): Promise<void>
}

/** The key of what the last refresh of a grant decided. */
export const decidedKey = 'decided'

/** Keys that do not outlive the entries of an object. */
const unnamed = new Set(['schema', 'refresh', 'issued', decidedKey])

/** Milliseconds for which a reserved key is stored: longer than an assertion is accepted. */
const reservedMs = 15 * 60_000

/**
 * Grants of a user, and besides them those whose code is not exchanged: another one ends the oldest of its kind. Anybody can send a user to a
 * sign-in, which ends no access of others.
 */
const maxGrants = 100

/** Access tokens of a grant that are valid at the same time: each refresh adds one. */
const maxTokens = 100

/** Token requests of a grant that wait for each other. */
const maxWaiting = 100

/** Milliseconds for which a value that is used once belongs to the reader that read it first. */
const leaseMs = 10_000

/** A token request that uses the grant. */
type Turn = {
  /** Settled when the request has its turn. */
  started?: Promise<void>
  /** Lets the next request start. */
  end?: () => void
  /** When the grant expires, in milliseconds since 1970. */
  expires?: number | undefined
  /** Whether the grant was deleted meanwhile: then the request stores nothing more. */
  isEnded: boolean
}

/** `sent`: all that is the same when the request is repeated. */
type Refresh = { readonly token: string; readonly sent: string }

/** Ends a request without the library. */
class Answered extends Error {
  readonly response: Response

  constructor(response: Response) {
    super()
    this.response = response
  }
}

export class SignIn extends DurableObject implements SignInRpc {
  readonly #host: SignInHost
  readonly #schema = new Schema(this.ctx.storage, migrations)
  readonly #alarms = new Alarms(this.ctx.storage)
  readonly #upstream: UpstreamTokens
  readonly #lastRefresh = new LastRefresh(this.ctx.storage)
  readonly #issued = new IssuedRefreshTokens(this.ctx.storage)
  /** The requests of a grant run one after the other. */
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0
  /** The token request that runs. */
  #running: Turn | undefined
  /** Until when each value that is used once belongs to its first reader, in milliseconds since 1970. */
  readonly #leases = new Map<string, number>()

  constructor(ctx: DurableObjectState, env: Cloudflare.Env, host: SignInHost) {
    super(ctx, env)
    this.#host = host
    this.#upstream = new UpstreamTokens(ctx.storage, host)
  }

  async read(key: string, isUsedOnce = false): Promise<string | null> {
    this.#schema.check()
    if (isUsedOnce && !this.#lease(key)) return null
    return this.#entry(key)?.value ?? null
  }

  async reserve(key: string): Promise<string | null> {
    this.#schema.check()
    const stored = this.#entry(key)
    if (stored) return stored.value
    // Stored in the turn of the read: whoever reads next, also in another instance, finds it.
    await this.#write(key, 'reserved', undefined, Date.now() + reservedMs)
    return null
  }

  async write(key: string, value: string, metadata: unknown, expires: number | undefined): Promise<void> {
    return this.#afterEarlier(async () => {
      this.#schema.check()
      // The object of a grant has no other one.
      if (key.startsWith('grant:')) await this.#endOldGrants(key, value, Object(metadata))
      await this.#write(key, value, metadata, expires)
    })
  }

  /**
   * Deletes an entry, after the writes that arrived before. A token request that runs is not awaited: it may wait for this, because the
   * options of `signIn()` may sign the user out.
   */
  async remove(key: string): Promise<void> {
    if (!this.#running) return this.#afterEarlier(() => this.#remove(key))
    if (key.startsWith('grant:')) this.#running.isEnded = true
    return this.#remove(key)
  }

  /** Lists entries, after the writes and removals that arrived before, as `remove` does. */
  async list(prefix: string): Promise<readonly StoredKey[]> {
    return this.#running ? this.#list(prefix) : this.#afterEarlier(() => this.#list(prefix))
  }

  async #list(prefix: string): Promise<readonly StoredKey[]> {
    this.#schema.check()
    const entries = [...this.ctx.storage.kv.list<Entry>({ prefix })]
    return entries
      .filter(([, entry]) => !isExpired(entry))
      .map(([name, { metadata, expires }]) => ({ name, metadata, expires }))
  }

  async granted(key: string): Promise<StoredGrant | undefined> {
    this.#schema.check()
    const entry = this.#entry(key)
    if (!entry) return undefined
    // The library wrote the grant.
    const { clientId, scope, metadata } = JSON.parse(entry.value)
    return { clientId, tenant: metadata?.tenant, scopes: scope, decided: this.#entry(decidedKey)?.value }
  }

  /**
   * Answers a token request; `undefined` when it names another client than that of the grant, or has a token that was not issued for it. The
   * requests of a grant run one after the other: a refresh reads the grant and writes it again. They wait when the library first uses the
   * grant: it has verified the client by then, which may take as long as the server of the client likes.
   */
  async answer(
    request: Request,
    site: OAuthSite,
    key: string,
    { clientId, token }: { readonly clientId: string; readonly token: string },
    providers: readonly ProviderName[],
  ): Promise<Response | undefined> {
    this.#schema.check()
    // The library wrote the grant.
    const grant = JSON.parse(this.#entry(key)?.value ?? '{}')
    if (grant.clientId !== clientId) return undefined
    const hash = hex(await sha256(token))
    const isAccessToken = this.#entry(tokenKey(key, hash)) !== undefined
    if (hash !== grant.authCodeId && !isAccessToken && !(await this.#issued.has(token))) return undefined
    const params = new URLSearchParams(await request.clone().text())
    const isRefresh = params.get('grant_type') === 'refresh_token'
    const refresh = isRefresh ? { token, sent: identityOf(params, request) } : undefined
    const turn: Turn = { isEnded: false }
    const own = { key, storage: this.#direct(() => (turn.started ??= this.#start(turn, key, request, refresh))) }
    try {
      const response = await this.#host.answer(request, site, own, providers)
      return turn.end ? await this.#finish(turn, response, site, own, refresh) : response
    } catch (problem) {
      if (problem instanceof Answered) return problem.response
      throw problem
    } finally {
      turn.end?.()
    }
  }

  /**
   * Waits for the token requests that arrived before.
   *
   * @throws Answered when too many wait, and when the last refresh is repeated
   */
  async #start(turn: Turn, key: string, request: Request, refresh: Refresh | undefined): Promise<void> {
    if (this.#waiting === maxWaiting) throw new Answered(busy())
    this.#waiting += 1
    const { promise, resolve } = Promise.withResolvers<void>()
    const earlier = this.#last
    this.#last = promise
    await earlier
    this.#running = turn
    turn.end = () => {
      this.#running = undefined
      this.#waiting -= 1
      resolve()
    }
    turn.expires = this.#entry(key)?.expires
    const repeated = refresh && (await this.#repeat(refresh, key))
    if (repeated !== undefined) throw new Answered(tokenResponse(repeated, request))
  }

  #afterEarlier<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }

  /** Stores what a response means for later requests, and ends the grant when the request has a refresh token that was replaced. */
  async #finish(
    turn: Turn,
    response: Response,
    site: OAuthSite,
    own: OwnGrant,
    refresh: Refresh | undefined,
  ): Promise<Response> {
    const text = await response.clone().text()
    // A revocation is answered without a text.
    const add = response.ok && text !== '' ? await this.#issued.adding(text) : undefined
    const store = response.ok && refresh ? await this.#lastRefresh.storing(refresh.sent, text) : undefined
    // Access may end during each wait. With a grant that has expired, the alarm of its user has deleted the upstream tokens.
    const isEnded = turn.isEnded || (turn.expires ?? Number.POSITIVE_INFINITY) <= Date.now()
    if (response.ok && (isEnded || add?.() === false)) {
      // The library has listed the grant with its user again.
      await this.#host.endGrant(site, own)
      return accessEnded()
    }
    store?.()
    if (refresh && isInvalidGrant(response, text) && (await this.#issued.has(refresh.token))) {
      await this.#host.endGrant(site, own)
    }
    return response
  }

  /**
   * Returns the response to the last refresh, with the remaining lifetime of its access token; `undefined` for another refresh, and when the token
   * has expired or was revoked.
   */
  async #repeat({ sent }: Refresh, key: string): Promise<string | undefined> {
    const response = this.#entry(key) && (await this.#lastRefresh.find(sent))
    if (response === undefined) return undefined
    // The library wrote it.
    const tokens: { access_token: string; expires_in: number } = JSON.parse(response)
    const hash = hex(await sha256(tokens.access_token))
    const expires = this.#entry(tokenKey(key, hash))?.expires
    if (expires === undefined) return undefined
    return JSON.stringify({ ...tokens, expires_in: Math.ceil((expires - Date.now()) / 1000) })
  }

  async keepUpstream(
    user: string,
    of: TokensName,
    tokens: KeptTokens,
    requested: readonly string[],
    isSignIn: boolean,
  ): Promise<void> {
    this.#schema.check()
    this.#schema.store()
    await this.#upstream.put(user, of, tokens, requested, isSignIn)
  }

  /** A refresh whose answer is lost loses the tokens: an object goes on when its caller has gone. */
  async upstreamToken(
    user: string,
    of: TokensName,
    scopes: readonly string[],
    rejected?: string,
  ): Promise<UpstreamAnswer> {
    this.#schema.check()
    const provider = this.#host.find(of)
    return provider ? this.#upstream.token(user, provider, scopes, rejected) : { missing: 'answer' }
  }

  async upstreamUser(user: string, of: TokensName): Promise<UserAnswer> {
    this.#schema.check()
    const provider = this.#host.find(of)
    return provider ? this.#upstream.user(user, provider) : { is: 'unanswered' }
  }

  async upstreamProviders(): Promise<readonly string[]> {
    this.#schema.check()
    return this.#upstream.providers()
  }

  async clearUpstream(user: string, provider?: string): Promise<void> {
    this.#schema.check()
    await this.#upstream.delete(user, provider)
    await this.#deleteIfEmpty()
  }

  /** Deletes what has expired, after the writes and removals that arrived before, as `remove` does. */
  override async alarm(): Promise<void> {
    if (await this.#schema.putOffAlarm()) return
    await (this.#running ? this.#expire() : this.#afterEarlier(() => this.#expire()))
  }

  async #expire(): Promise<void> {
    const { kv } = this.ctx.storage
    // Only objects with entries set alarms.
    const entries = [...kv.list<Entry>()].filter(([key]) => !unnamed.has(key))
    // A user can have more grants than a function has arguments.
    const next = entries.reduce(
      (first, [, entry]) => (isExpired(entry) ? first : Math.min(first, entry.expires ?? first)),
      Number.POSITIVE_INFINITY,
    )
    if (next < Number.POSITIVE_INFINITY) await this.#alarms.set({ expires: next })
    await this.#delete(entries.filter(([, entry]) => isExpired(entry)).map(([key]) => key))
  }

  /** Deletes entries, after the user was signed out if no grants remain. */
  async #delete(keys: readonly string[]): Promise<void> {
    const { kv } = this.ctx.storage
    const upstream = upstreamWithoutGrants(kv, keys)
    if (upstream !== undefined) await this.#host.signOut(upstream)
    for (const key of keys) kv.delete(key)
    await this.#deleteIfEmpty()
  }

  /** The storage for a token request. @param start waits for its turn */
  #direct(start: () => Promise<void>): EntryStorage {
    return {
      read: async (key) => {
        await start()
        return this.read(key)
      },
      // A grant and its tokens are used more than once.
      reserve: (key) => this.reserve(key),
      list: async (prefix) => {
        await start()
        return this.#list(prefix)
      },
      write: async (...entry) => {
        await start()
        if (!this.#running?.isEnded) await this.#write(...entry)
      },
      remove: async (key) => {
        await start()
        await this.#remove(key)
      },
    }
  }

  async #write(key: string, value: string, metadata: unknown, expires: number | undefined): Promise<void> {
    this.#schema.check()
    this.#schema.store()
    const entry: Entry = {
      value,
      ...(metadata !== undefined && { metadata }),
      ...(expires !== undefined && { expires }),
    }
    const { kv } = this.ctx.storage
    kv.put(key, entry)
    if (key.startsWith('token:')) for (const [oldest] of this.#oldTokens()) kv.delete(oldest)
    if (expires !== undefined) await this.#alarms.add(expires)
  }

  async #remove(key: string): Promise<void> {
    this.#schema.check()
    // Also those tokens of a grant that were stored after the caller had listed them.
    const tokens = this.ctx.storage.kv.list({ prefix: `${key.replace(/^grant:/, 'token:')}:` })
    await this.#delete([key, ...[...tokens].map(([name]) => name)])
  }

  /**
   * Ends the oldest grants of the user of this object, before another one is listed: those of the same client, if there are any.
   *
   * @param upstream name of the object with the upstream tokens of the user
   */
  async #endOldGrants(key: string, upstream: string, { isCode, client }: Partial<ListedGrant>): Promise<void> {
    const { kv } = this.ctx.storage
    const listed = [...kv.list<Entry & { readonly metadata: ListedGrant }>({ prefix: 'grant:' })]
    const rivals = listed.filter(([name, { metadata }]) => name !== key && metadata.isCode === isCode)
    const isOwn = ({ metadata }: (typeof listed)[number][1]) => Number(metadata.client === client)
    rivals.sort(([, one], [, other]) => isOwn(one) - isOwn(other) || other.metadata.since - one.metadata.since)
    const old = rivals.slice(maxGrants - 1).map(([name]) => name)
    if (old.length > 0) await this.#host.endGrants(upstream, old)
    for (const name of old) kv.delete(name)
  }

  /** Returns the access tokens of the grant that are too many: those that expire first. */
  #oldTokens(): readonly (readonly [key: string, entry: Entry])[] {
    const tokens = [...this.ctx.storage.kv.list<Entry>({ prefix: 'token:' })]
    const untilOf = ([, { expires = 0 }]: readonly [string, Entry]) => expires
    return tokens.sort((one, other) => untilOf(other) - untilOf(one)).slice(maxTokens)
  }

  #entry(key: string): Entry | undefined {
    const entry = this.ctx.storage.kv.get<Entry>(key)
    return entry && !isExpired(entry) ? entry : undefined
  }

  /** Returns whether the caller is the first reader of a value that is used once. */
  #lease(key: string): boolean {
    if ((this.#leases.get(key) ?? 0) > Date.now()) return false
    this.#leases.set(key, Date.now() + leaseMs)
    return true
  }

  async #deleteIfEmpty(): Promise<void> {
    const isEmpty = [...this.ctx.storage.kv.list({ limit: unnamed.size + 1 })].every(([key]) => unnamed.has(key))
    if (!isEmpty) return
    await this.ctx.storage.deleteAll()
    this.#schema.reset()
  }
}

/** Returns the key of an access token of a grant. */
const tokenKey = (grantKey: string, hash: string): string => `${grantKey.replace(/^grant:/, 'token:')}:${hash}`

/** Returns the part of a refresh that the client sends again when it repeats the refresh. */
function identityOf(params: URLSearchParams, { headers }: Request): string {
  const same = new URLSearchParams(params)
  // Each request has an assertion of its own.
  if (same.has('client_assertion')) same.set('client_assertion', '')
  same.sort()
  return `${same}\n${headers.get('Authorization') ?? ''}`
}

/** Browsers of all origins may read an error: RFC 6749 has no cookies. */
const openHeaders = { 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'no-store' }

/** Returns the error for a grant that ended while its request ran: RFC 6749, section 5.2. */
const accessEnded = () =>
  Response.json(
    { error: 'invalid_grant', error_description: 'The access of the client was ended.' },
    { status: 400, headers: openHeaders },
  )

/** Whether the library refused the token of a request, after it had verified the client. */
const isInvalidGrant = ({ status }: Response, text: string): boolean =>
  status === 400 && JSON.parse(text).error === 'invalid_grant'

/** Returns the error for a request of a grant for which too many wait. */
const busy = () =>
  Response.json(
    {
      error: 'temporarily_unavailable',
      error_description: 'Too many token requests wait for each other: try again later',
    },
    { status: 503, headers: { ...openHeaders, 'Retry-After': '5' } },
  )

/** Returns a response with tokens, as the library does. Browsers of all origins may read it: RFC 6749 has no cookies. */
function tokenResponse(text: string, { headers }: Request): Response {
  const origin = headers.get('Origin')
  return new Response(text, {
    headers: {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      Pragma: 'no-cache',
      ...(origin !== null && { 'Access-Control-Allow-Origin': origin, Vary: 'Origin' }),
    },
  })
}

const isExpired = ({ expires = Number.POSITIVE_INFINITY }: Entry): boolean => expires <= Date.now()
