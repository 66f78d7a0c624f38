/** The tokens that identity providers issued for their APIs to one user, sealed. */
import type { KeptTokens, TokensName, UpstreamAnswer, UserAnswer } from './rpc.ts'

/** The provider of tokens, in the isolate of the object. What fails is reported. */
export type ProviderCalls = TokensName & {
  /**
   * Refreshes tokens. Returns `undefined` when the provider does not accept the refresh token any more. Default: its tokens cannot be
   * refreshed.
   */
  refresh?(tokens: KeptTokens): Promise<KeptTokens | 'unanswered' | undefined>
  /** Asks who the user of tokens is now. Returns `rejected` when the API does not accept the access token. */
  user(tokens: KeptTokens): Promise<UserAnswer | 'rejected'>
}

/** What the tokens need of the plugin that made the class of the object. */
export interface UpstreamHost {
  /** Seals tokens of a user. @param user its id @param entry see `TokensName` */
  seal(user: string, entry: string, tokens: KeptTokens): Promise<string>
  /** Returns sealed tokens; `undefined` if a key is missing. */
  open(user: string, entry: string, sealed: string): Promise<KeptTokens | undefined>
  /** Revokes tokens at their provider, after they were deleted here. Failures are reported. */
  revoke(tokens: KeptTokens): Promise<void>
  /** Returns the granted scopes, with those that they include. */
  held(of: TokensName, tokens: KeptTokens): ReadonlySet<string>
}

/** Milliseconds before its expiry from which an access token is refreshed. */
const refreshBeforeMs = 60_000

/** Milliseconds after which a refresh that was sent, and whose answer was lost with the object, is repeated. */
const lostAfterMs = 15_000

/** Milliseconds after which the stored time of a refresh is stored again before it is sent: a provider has the rest of `lostAfterMs`. */
const slowMs = 5_000

/** How many rejected tokens a user is asked to replace in `replacementsMs`. After that, the API refuses for a reason of its own. */
const maxReplacements = 2
const replacementsMs = 24 * 60 * 60_000

/** Scopes of earlier tokens, the newest of them, that later tokens lack: each sign-in adds some. */
const maxLostScopes = 500

/** Starts the keys of tokens. */
const prefix = 'tokens:'
/** Starts the keys of refreshes that were sent. */
const marker = 'refreshing:'

export class UpstreamTokens {
  readonly #storage: DurableObjectStorage
  readonly #host: UpstreamHost
  /** Refreshes that run, by provider, client and refresh token: all calls that ask at the same time share one. */
  readonly #refreshing = new Map<string, Promise<KeptTokens | Missing | undefined>>()

  constructor(storage: DurableObjectStorage, host: UpstreamHost) {
    this.#storage = storage
    this.#host = host
  }

  /**
   * Stores tokens. Those of another account, client or issuer are replaced with all that is known of them, and revoked.
   *
   * @param isSignIn the tokens of a sign-in: tokens that were connected with more scopes stay, as long as they can be used, and those of a
   *   later sign-in
   */
  async put(
    user: string,
    provider: TokensName,
    received: KeptTokens,
    requested: readonly string[],
    isSignIn: boolean,
  ): Promise<void> {
    const { entry, issuer, clientId } = provider
    const tokens = { ...received, issuer, clientId }
    const ownOf = (stored: KeptTokens | undefined) =>
      stored?.account === tokens.account && isOf(stored, provider) ? stored : undefined
    const hasAll = (one: KeptTokens, other: KeptTokens) => {
      const held = this.#host.held(provider, one)
      return other.scopes.every((scope) => held.has(scope))
    }
    const isBetter = (one: KeptTokens, other: KeptTokens) =>
      hasAll(one, other) && !hasAll(other, one) && (isLasting(one) || !isLasting(other))
    const { before, after } = await this.#update(user, entry, (stored) => {
      const old = ownOf(stored)
      const { askedAt: storedAt = 0 } = old?.fallback ?? old ?? {}
      // A later sign-in has ended before this one.
      if (isSignIn && tokens.askedAt !== undefined && tokens.askedAt < storedAt) return undefined
      if (isSignIn && old && isUsable(old) && isBetter(old, tokens)) {
        // A refresh token of both is replaced when the connected ones are refreshed.
        const refreshToken = tokens.refreshToken === old.refreshToken ? undefined : tokens.refreshToken
        // Where they cannot be refreshed, the ID token says who the user is: that of the last sign-in.
        return { ...old, idToken: tokens.idToken, fallback: { ...tokens, refreshToken } }
      }
      const refused = { ...old?.refused }
      for (const scope of requested) {
        // A page of sign-in does not tell what a scope is for.
        refused[scope] = isSignIn ? Math.max(refused[scope] ?? 0, 1) : (refused[scope] ?? 0) + 1
      }
      const held = this.#host.held(provider, tokens)
      for (const scope of Object.keys(refused)) if (held.has(scope)) delete refused[scope]
      const replaced = [...(old?.replaced ?? []), ...(old?.isRejected ? [Date.now()] : [])].slice(-maxReplacements)
      // RFC 6749, section 5.1: an answer need not repeat the refresh token.
      const refreshToken = tokens.refreshToken ?? old?.refreshToken
      // The page that connects the provider has requested them again.
      const lostScopes =
        isSignIn && old
          ? scopesOf(old)
              .filter((one) => !held.has(one))
              .slice(0, maxLostScopes)
          : []
      return { ...tokens, refreshToken, refused, replaced, lostScopes }
    })
    // The answer to a refresh that runs is of no use to them.
    if (after && after.refreshToken !== before?.refreshToken) this.#storage.kv.delete(marker + entry)
    if (before && !ownOf(before)) await this.#revoke(before)
  }

  /** Asks the provider who the user is now. */
  async user(user: string, provider: ProviderCalls): Promise<UserAnswer> {
    const { entry } = provider
    // Deleted by the user, or with the last grant.
    if (this.#storage.kv.get(prefix + entry) === undefined) return signedOut
    const tokens = await this.#open(user, entry)
    if (!tokens) return unreadable
    if (!isOf(tokens, provider)) return ofAnotherClient
    const { refreshToken, idToken, expires = Number.POSITIVE_INFINITY, isRefused = false } = tokens
    if (isRefused) return signedOut
    const canRefresh = refreshToken !== undefined && provider.refresh !== undefined
    // The provider has refused nothing: it issued tokens that end.
    if (!canRefresh && expires <= Date.now()) return { is: 'unchanged' }
    const isStale = canRefresh && (idToken !== undefined || !isFresh(tokens))
    const answer = isStale ? 'rejected' : await provider.user(tokens)
    // Where the tokens do not say who the user is, only a refresh asks the provider.
    const isAnswered = answer !== 'rejected' && !(canRefresh && answer.is === 'unchanged')
    if (isAnswered) return answer
    const refreshed = canRefresh ? await this.#newerThan(tokens, user, provider) : tokens
    if ('missing' in refreshed) return refreshed.missing === 'answer' ? { is: 'unanswered' } : signedOut
    const again = canRefresh ? await provider.user(refreshed) : answer
    if (again !== 'rejected') return again
    // A new token that has expired meanwhile says nothing about the user.
    if (canRefresh && isExpired(refreshed)) return { is: 'unanswered' }
    await this.#update(user, entry, (stored) => (isSame(stored, refreshed) ? asRefused(stored) : undefined))
    // Those of a sign-in may take their place.
    return this.user(user, provider)
  }

  /** Returns the names of the providers whose tokens are stored. */
  providers(): readonly string[] {
    return [...new Set(this.#entries().map(providerOf))]
  }

  #entries(): readonly string[] {
    return [...this.#storage.kv.list({ prefix })].map(([key]) => key.slice(prefix.length))
  }

  /** Deletes tokens, and revokes them at their providers. @param provider Default: all of them */
  async delete(user: string, provider?: string): Promise<void> {
    const entries = this.#entries().filter((entry) => provider === undefined || providerOf(entry) === provider)
    const all = entries.map((entry) => this.#open(user, entry))
    for (const entry of entries) for (const start of [prefix, marker]) this.#storage.kv.delete(start + entry)
    await Promise.all(
      all.map(async (opened) => {
        const tokens = await opened
        if (tokens) await this.#revoke(tokens)
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
    const tokens = await this.#open(user, provider.entry)
    if (!tokens || !isOf(tokens, provider)) return lacking('tokens', tokens)
    const answer = this.#withScopes(provider, tokens, scopes)
    if ('missing' in answer || (tokens.accessToken !== rejected && isFresh(tokens))) return answer
    const refreshed = await this.#newerThan(tokens, user, provider)
    // A provider may take scopes away with a refresh.
    return 'missing' in refreshed ? refreshed : this.#withScopes(provider, refreshed, scopes)
  }

  /** Returns tokens that replaced others: those that were stored meanwhile, or those of a refresh. */
  async #newerThan(old: KeptTokens, user: string, provider: ProviderCalls): Promise<KeptTokens | Missing> {
    const { entry } = provider
    for (;;) {
      const sealed = this.#sealed(entry)
      const stored = await this.#open(user, entry)
      if (this.#sealed(entry) !== sealed) continue
      if (!stored || !isOf(stored, provider)) return lacking('tokens', stored)
      if (stored.accessToken !== old.accessToken && isFresh(stored)) return stored
      const refreshed = await this.#refreshOnce(user, provider, stored)
      if (refreshed) return refreshed
    }
  }

  /** Refreshes tokens, or waits for the refresh that runs. Returns `undefined` when others are stored by then. */
  #refreshOnce(user: string, provider: ProviderCalls, tokens: KeptTokens): Promise<KeptTokens | Missing | undefined> {
    const { entry, issuer, clientId } = provider
    const key = JSON.stringify([entry, issuer, clientId, tokens.refreshToken])
    const running = this.#refreshing.get(key)
    const refreshing = running ?? this.#refresh(user, provider, tokens).finally(() => this.#refreshing.delete(key))
    this.#refreshing.set(key, refreshing)
    return refreshing
  }

  #withScopes(provider: TokensName, tokens: KeptTokens, scopes: readonly string[]): UpstreamAnswer {
    const held = this.#host.held(provider, tokens)
    return scopes.every((scope) => held.has(scope)) ? tokenOf(tokens) : lacking('scopes', tokens)
  }

  /** Revokes tokens with those that would take their place. */
  async #revoke(tokens: KeptTokens): Promise<void> {
    await Promise.all([tokens, tokens.fallback].map((one) => one && this.#host.revoke(one)))
  }

  #sealed(entry: string): string | undefined {
    return this.#storage.kv.get<string>(prefix + entry)
  }

  async #open(user: string, entry: string): Promise<KeptTokens | undefined> {
    const sealed = this.#sealed(entry)
    const tokens = sealed === undefined ? undefined : await this.#host.open(user, entry, sealed)
    return tokens && usableOf(tokens)
  }

  /**
   * Stores what `next` makes of the tokens that are stored; `undefined` leaves them as they are. Nothing is awaited between the comparison
   * and the write: when they change while they are read or sealed, `next` is called again.
   *
   * @returns the tokens that were stored, and those that replaced them
   */
  async #update(
    user: string,
    entry: string,
    next: (stored: KeptTokens | undefined) => KeptTokens | undefined,
  ): Promise<{ readonly before: KeptTokens | undefined; readonly after: KeptTokens | undefined }> {
    for (;;) {
      const sealed = this.#sealed(entry)
      const before = await this.#open(user, entry)
      const after = next(before)
      const replacement = after && (await this.#host.seal(user, entry, after))
      if (this.#sealed(entry) !== sealed) continue
      if (replacement !== undefined) this.#storage.kv.put(prefix + entry, replacement)
      return { before, after }
    }
  }

  /** Notes that tokens do not work any more: those of the next sign-in replace them, also if these have less scopes. */
  async #reject(user: string, entry: string, old: KeptTokens): Promise<KeptTokens | Missing | undefined> {
    if (!isUsable(old)) return lacking('tokens', old)
    const replaced = old.replaced?.filter((time) => time + replacementsMs > Date.now()) ?? []
    if (replaced.length === maxReplacements) return old
    await this.#update(user, entry, (stored) => (isSame(stored, old) ? { ...stored, isRejected: true } : undefined))
    return undefined
  }

  /**
   * Sends a refresh token at most once at a time, also when this object was lost while it waited for an answer. Returns `undefined` when
   * others are stored in the place of the tokens.
   */
  async #refresh(user: string, provider: ProviderCalls, old: KeptTokens): Promise<KeptTokens | Missing | undefined> {
    const { entry } = provider
    const { refreshToken } = old
    if (refreshToken === undefined || !provider.refresh) return this.#reject(user, entry, old)
    const { kv } = this.#storage
    const sealed = this.#sealed(entry)
    const lost = kv.get<number>(marker + entry)
    if (lost !== undefined) await scheduler.wait(Math.max(0, lost + lostAfterMs - Date.now()))
    let sent: number
    do {
      sent = Date.now()
      kv.put(marker + entry, sent)
      await this.#storage.sync()
    } while (sent + slowMs < Date.now())
    try {
      // A provider ends the access of a refresh token that was replaced, and is sent again.
      if (this.#sealed(entry) !== sealed) return undefined
      const refreshed = await provider.refresh(old)
      if (refreshed === 'unanswered') return { missing: 'answer' }
      const { before, after } = await this.#update(user, entry, (stored) => {
        if (stored?.refreshToken !== refreshToken || !isOf(stored, provider)) return undefined
        // Tokens that arrived meanwhile without a refresh token of their own.
        if (stored.accessToken !== old.accessToken) return { ...stored, refreshToken: refreshed?.refreshToken }
        const { refused, fallback, lostScopes } = stored
        return refreshed ? { ...refreshed, refused, fallback, lostScopes } : asRefused(stored)
      })
      if (refreshed && after?.accessToken === refreshed.accessToken) return after
      const isAccountKept = before?.account === old.account && isOf(before, provider)
      if (refreshed && !isAccountKept) await this.#host.revoke(refreshed)
      return undefined
    } finally {
      if (kv.get(marker + entry) === sent) kv.delete(marker + entry)
    }
  }
}

/** Returns the name of the provider of an entry. Names of providers have no blanks. */
const providerOf = (entry: string): string => entry.replace(/ .*/s, '')

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
const isOf = ({ issuer, clientId }: KeptTokens, provider: TokensName): boolean =>
  issuer === provider.issuer && clientId === provider.clientId

/** Whether tokens are still those that were read before. */
const isSame = (stored: KeptTokens | undefined, { accessToken, refreshToken }: KeptTokens): stored is KeptTokens =>
  stored?.accessToken === accessToken && stored.refreshToken === refreshToken

const tokenOf = ({ accessToken, expires }: KeptTokens): UpstreamAnswer => ({ accessToken, expires })

const isExpired = ({ expires = Number.POSITIVE_INFINITY }: KeptTokens): boolean => expires <= Date.now()

/** Whether the access token is valid for a minute at least. */
const isFresh = ({ expires = Number.POSITIVE_INFINITY }: KeptTokens): boolean => expires - refreshBeforeMs > Date.now()

const lacking = (missing: 'tokens' | 'scopes', tokens: KeptTokens | undefined): Missing => ({
  missing,
  // Those of tokens that are refused are requested again, when the user connects the provider.
  held: tokens ? scopesOf(tokens) : [],
  refused: tokens?.refused ?? {},
})

/** Returns the tokens that can be used: those of the last sign-in, once the connected ones cannot. */
function usableOf(tokens: KeptTokens): KeptTokens {
  const { fallback, refused, replaced } = tokens
  if (!fallback || isUsable(tokens) || !isUsable(fallback)) return tokens
  return { ...fallback, refused, replaced, lostScopes: scopesOf(tokens) }
}

/** Returns the scopes of tokens, and those that the user has connected before them. */
const scopesOf = ({ scopes, lostScopes = [] }: KeptTokens): readonly string[] => [
  ...new Set([...scopes, ...lostScopes]),
]

const asRefused = (tokens: KeptTokens): KeptTokens => ({
  ...tokens,
  refreshToken: undefined,
  expires: 0,
  isRefused: true,
})

/** Whether the provider can be asked about the user at any time. */
const isLasting = ({ refreshToken, expires }: KeptTokens): boolean =>
  refreshToken !== undefined || expires === undefined

/** Whether tokens are valid, or can be refreshed. */
const isUsable = ({ refreshToken, expires = Number.POSITIVE_INFINITY, isRejected, isRefused }: KeptTokens): boolean =>
  refreshToken !== undefined || (!isRejected && !isRefused && expires > Date.now())
