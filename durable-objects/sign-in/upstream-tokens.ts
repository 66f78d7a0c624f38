/** The tokens that identity providers issued for their APIs to one user, sealed. */
import type { KeptTokens, ProviderCalls, UpstreamAnswer, UserAnswer } from '../rpc.ts'

/** What the tokens need of the plugin that made the class of the object. */
export interface UpstreamHost {
  /** Seals tokens of a user. @param user its id */
  seal(user: string, provider: string, tokens: KeptTokens): Promise<string>
  /** Returns sealed tokens; `undefined` if a key is missing. */
  open(user: string, provider: string, sealed: string): Promise<KeptTokens | undefined>
  /** Revokes tokens at their provider, after they were deleted here. Failures are reported. */
  revoke(tokens: KeptTokens): Promise<void>
  /** Whether granted scopes include another one. */
  holds(provider: ProviderCalls, tokens: KeptTokens, scope: string): boolean
  /** Logs a problem. */
  report(problem: unknown): void
}

/** Milliseconds before its expiry from which an access token is refreshed. */
const refreshBeforeMs = 60_000

/** Milliseconds after which a refresh that was sent, and whose answer was lost with the object, is repeated. */
const lostAfterMs = 15_000

/** How many rejected tokens a user is asked to replace in `replacementsMs`. After that, the API refuses for a reason of its own. */
const maxReplacements = 2
const replacementsMs = 24 * 60 * 60_000

/** Starts the keys of tokens. */
const prefix = 'tokens:'
/** Starts the keys of refreshes that were sent. */
const marker = 'refreshing:'

export class UpstreamTokens {
  readonly #storage: DurableObjectStorage
  readonly #host: UpstreamHost
  /** Refreshes that run, by provider: all calls that ask at the same time share one. */
  readonly #refreshing = new Map<string, Promise<KeptTokens | Missing>>()

  constructor(storage: DurableObjectStorage, host: UpstreamHost) {
    this.#storage = storage
    this.#host = host
  }

  /**
   * Stores tokens. Those of another account, client or issuer are replaced with all that is known of them, and revoked.
   *
   * @param isSignIn the tokens of a sign-in: tokens that were connected with more scopes stay
   */
  async put(
    user: string,
    provider: ProviderCalls,
    received: KeptTokens,
    requested: readonly string[],
    isSignIn: boolean,
  ): Promise<void> {
    const { name, issuer, clientId } = provider
    const tokens = { ...received, issuer, clientId }
    const ownOf = (stored: KeptTokens | undefined) =>
      stored?.account === tokens.account && isOf(stored, provider) ? stored : undefined
    const hasAll = (one: KeptTokens, other: KeptTokens) =>
      other.scopes.every((scope) => this.#host.holds(provider, one, scope))
    const isBetter = (one: KeptTokens, other: KeptTokens) =>
      hasAll(one, other) && !hasAll(other, one) && (isLasting(one) || !isLasting(other))
    const { before } = await this.#update(user, name, (stored) => {
      const old = ownOf(stored)
      if (isSignIn && old && isUsable(old) && isBetter(old, tokens)) return undefined
      const refused = { ...old?.refused }
      for (const scope of requested) {
        // A page of sign-in does not tell what a scope is for.
        refused[scope] = isSignIn ? Math.max(refused[scope] ?? 0, 1) : (refused[scope] ?? 0) + 1
      }
      for (const scope of Object.keys(refused)) if (this.#host.holds(provider, tokens, scope)) delete refused[scope]
      const replaced = [...(old?.replaced ?? []), ...(old?.isRejected ? [Date.now()] : [])].slice(-maxReplacements)
      // RFC 6749, section 5.1: an answer need not repeat the refresh token.
      const refreshToken = tokens.refreshToken ?? old?.refreshToken
      return { ...tokens, refreshToken, refused, replaced }
    })
    if (before && !ownOf(before)) await (isOf(before, provider) ? provider : this.#host).revoke(before)
  }

  /** Asks the provider who the user is now. */
  async user(user: string, provider: ProviderCalls): Promise<UserAnswer> {
    const { name } = provider
    // Deleted by the user, or with the last grant.
    if (this.#storage.kv.get(prefix + name) === undefined) return signedOut
    const tokens = await this.#open(user, name)
    if (!tokens) return unreadable
    if (!isOf(tokens, provider)) return ofAnotherClient
    const { refreshToken, idToken, expires = Number.POSITIVE_INFINITY, isRefused = false } = tokens
    if (isRefused) return signedOut
    const canRefresh = refreshToken !== undefined
    // The provider has refused nothing: it issued tokens that end.
    if (!canRefresh && expires <= Date.now()) return { is: 'unchanged' }
    const isStale = canRefresh && (idToken !== undefined || expires - refreshBeforeMs <= Date.now())
    const answer = isStale ? 'rejected' : await provider.user(tokens)
    if (answer !== 'rejected') return answer
    if (!canRefresh) {
      await this.#update(user, name, (stored) => (isSame(stored, tokens) ? { ...stored, isRefused: true } : undefined))
      // Those of a sign-in may have replaced them.
      return this.user(user, provider)
    }
    const refreshed = await this.#refreshOnce(user, provider, tokens)
    if ('missing' in refreshed) return refreshed.missing === 'answer' ? { is: 'unanswered' } : signedOut
    const again = await provider.user(refreshed)
    return again === 'rejected' ? signedOut : again
  }

  /** Returns the names of the providers whose tokens are stored. */
  providers(): readonly string[] {
    return [...this.#storage.kv.list({ prefix })].map(([key]) => key.slice(prefix.length))
  }

  /** Deletes tokens, and revokes them at their providers. @param provider Default: all of them */
  async delete(user: string, provider?: string): Promise<void> {
    const names = provider === undefined ? this.providers() : [provider]
    const all = names.map((name) => this.#open(user, name))
    for (const name of names) for (const start of [prefix, marker]) this.#storage.kv.delete(start + name)
    await Promise.all(
      all.map(async (opened) => {
        const tokens = await opened
        if (tokens) await this.#host.revoke(tokens)
      }),
    )
  }

  /** Returns an access token that is valid for a minute at least, with these scopes. */
  async token(
    user: string,
    provider: ProviderCalls,
    scopes: readonly string[],
    rejected?: string,
  ): Promise<UpstreamAnswer> {
    const tokens = await this.#open(user, provider.name)
    if (!tokens || !isOf(tokens, provider)) return lacking('tokens', tokens)
    const { accessToken, expires } = tokens
    const isFresh = (expires ?? Number.POSITIVE_INFINITY) - refreshBeforeMs > Date.now()
    const answer = this.#withScopes(provider, tokens, scopes)
    if ('missing' in answer || (accessToken !== rejected && isFresh)) return answer
    const refreshed = await this.#refreshOnce(user, provider, tokens)
    // A provider may take scopes away with a refresh.
    return 'missing' in refreshed ? refreshed : this.#withScopes(provider, refreshed, scopes)
  }

  /** Refreshes tokens, or waits for the refresh that runs. */
  #refreshOnce(user: string, provider: ProviderCalls, tokens: KeptTokens): Promise<KeptTokens | Missing> {
    const { name } = provider
    const running = this.#refreshing.get(name)
    const refreshing = running ?? this.#refresh(user, provider, tokens).finally(() => this.#refreshing.delete(name))
    this.#refreshing.set(name, refreshing)
    return refreshing
  }

  #withScopes(provider: ProviderCalls, tokens: KeptTokens, scopes: readonly string[]): UpstreamAnswer {
    const hasAll = scopes.every((scope) => this.#host.holds(provider, tokens, scope))
    return hasAll ? tokenOf(tokens) : lacking('scopes', tokens)
  }

  async #open(user: string, provider: string): Promise<KeptTokens | undefined> {
    const sealed = this.#storage.kv.get<string>(prefix + provider)
    return sealed === undefined ? undefined : this.#host.open(user, provider, sealed)
  }

  /**
   * Stores what `next` makes of the tokens that are stored; `undefined` leaves them as they are. Nothing is awaited between the comparison and
   * the write: when they change while they are read or sealed, `next` is called again.
   *
   * @returns the tokens that were stored, and those that replaced them
   */
  async #update(
    user: string,
    provider: string,
    next: (stored: KeptTokens | undefined) => KeptTokens | undefined,
  ): Promise<{ readonly before: KeptTokens | undefined; readonly after: KeptTokens | undefined }> {
    const { kv } = this.#storage
    for (;;) {
      const sealed = kv.get<string>(prefix + provider)
      const before = await this.#open(user, provider)
      const after = next(before)
      const replacement = after && (await this.#host.seal(user, provider, after))
      if (kv.get(prefix + provider) !== sealed) continue
      if (replacement !== undefined) kv.put(prefix + provider, replacement)
      return { before, after }
    }
  }

  /** Notes that tokens do not work any more: those of the next sign-in replace them, also if these have less scopes. */
  async #reject(user: string, provider: string, old: KeptTokens): Promise<KeptTokens | Missing> {
    const replaced = old.replaced?.filter((time) => time + replacementsMs > Date.now()) ?? []
    if (isUsable(old) && replaced.length === maxReplacements) return old
    await this.#update(user, provider, (stored) =>
      isSame(stored, old) && isUsable(stored) ? { ...stored, isRejected: true } : undefined,
    )
    return lacking('tokens', old)
  }

  /** Sends a refresh token at most once at a time, also when this object was lost while it waited for an answer. */
  async #refresh(user: string, provider: ProviderCalls, old: KeptTokens): Promise<KeptTokens | Missing> {
    const { name } = provider
    const { refreshToken } = old
    if (refreshToken === undefined) return this.#reject(user, name, old)
    const { kv } = this.#storage
    const sent = kv.get<number>(marker + name)
    if (sent !== undefined) await scheduler.wait(Math.max(0, sent + lostAfterMs - Date.now()))
    kv.put(marker + name, Date.now())
    await this.#storage.sync()
    try {
      const refreshed = await provider.refresh(old)
      // The scopes of refused tokens are requested again, when the user connects the provider.
      const refusal = { ...old, refreshToken: undefined, expires: 0, isRefused: true }
      const { before, after } = await this.#update(user, name, (stored) =>
        isSame(stored, old) ? { ...(refreshed ?? refusal), refused: stored.refused } : undefined,
      )
      if (after && refreshed) return after
      if (refreshed && before?.account !== old.account) await provider.revoke(refreshed)
      return !after && before ? before : lacking('tokens', after)
    } catch (problem) {
      this.#host.report(problem)
      return { missing: 'answer' }
    } finally {
      kv.delete(marker + name)
    }
  }
}

/** An answer without a token. */
type Missing = Extract<UpstreamAnswer, { readonly missing: unknown }>

const signedOut: UserAnswer = { is: 'denied', reason: 'The provider does not accept the sign-in any more.' }

/** Without its tokens, the provider cannot be asked about the user. */
const unreadable: UserAnswer = { is: 'denied', reason: 'The key of EDGEMCP_KEYS that sealed the sign-in was removed.' }

/** A refresh token belongs to its client: RFC 6749, section 6. */
const ofAnotherClient: UserAnswer = {
  is: 'denied',
  reason: 'The sign-in is of another client or server of the provider. Sign in again.',
}

/** Whether tokens are of the client of a provider. Otherwise they are not sent to it. */
const isOf = ({ issuer, clientId }: KeptTokens, provider: ProviderCalls): boolean =>
  issuer === provider.issuer && clientId === provider.clientId

/** Whether tokens are still those that were read before. */
const isSame = (stored: KeptTokens | undefined, { accessToken, refreshToken }: KeptTokens): stored is KeptTokens =>
  stored?.accessToken === accessToken && stored.refreshToken === refreshToken

const tokenOf = ({ accessToken, expires }: KeptTokens): UpstreamAnswer => ({ accessToken, expires })

const lacking = (missing: 'tokens' | 'scopes', tokens: KeptTokens | undefined): Missing => ({
  missing,
  held: tokens?.scopes ?? [],
  refused: tokens?.refused ?? {},
})

/** Whether the provider can be asked about the user at any time. */
const isLasting = ({ refreshToken, expires }: KeptTokens): boolean =>
  refreshToken !== undefined || expires === undefined

/** Whether tokens are valid, or can be refreshed. */
const isUsable = ({ refreshToken, expires = Number.POSITIVE_INFINITY, isRejected, isRefused }: KeptTokens): boolean =>
  refreshToken !== undefined || (!isRejected && !isRefused && expires > Date.now())
