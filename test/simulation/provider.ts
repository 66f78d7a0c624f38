/**
 * An identity provider outside of the simulated Worker. It replaces its refresh tokens, and ends their family when one of them is sent that was
 * replaced, and whose successor was used. An answer that was lost can be repeated.
 */
import type { Random } from './platform/random.ts'

/** Tokens of one sign-in, and of their refreshes. */
type Family = { readonly user: string; current: string; previous: string | undefined; isRevoked: boolean }

export type ProviderHost = {
  readonly random: Random
  readonly now: () => number
  /** Milliseconds pass. */
  readonly sleep: (delayMs: number) => Promise<void>
}

export class Provider {
  /** What no client of a provider may do. */
  readonly offences: string[] = []
  /** Refresh tokens that were sent again, after an answer that was perhaps lost. */
  repeats = 0
  readonly #host: ProviderHost
  readonly #codes = new Map<string, string>()
  readonly #families = new Map<string, Family>()
  readonly #access = new Map<string, { readonly family: Family; readonly expires: number }>()
  /** Refresh tokens whose answer is on its way, and the signals of their requests. */
  readonly #running = new Map<string, AbortSignal>()

  constructor(host: ProviderHost) {
    this.#host = host
  }

  /** Signs a user in, who is sent back to the callback. */
  authorize(url: URL, user: string): URL {
    const back = new URL(url.searchParams.get('redirect_uri') ?? '')
    const code = this.#host.random.uuid()
    this.#codes.set(code, user)
    back.searchParams.set('code', code)
    back.searchParams.set('state', url.searchParams.get('state') ?? '')
    return back
  }

  /** Whether an access token is valid. */
  accepts(token: string): boolean {
    const { family, expires = 0 } = this.#access.get(token) ?? {}
    return expires > this.#host.now() && family?.isRevoked === false
  }

  /** Returns for each sign-in of a user whether its tokens were revoked. */
  revocationsOf(user: string): readonly boolean[] {
    const families = [...new Set(this.#families.values())].filter((family) => family.user === user)
    return families.map(({ isRevoked }) => isRevoked)
  }

  async answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/user') return this.#userOf(request.headers.get('Authorization')?.slice('Bearer '.length) ?? '')
    const form = new URLSearchParams(await request.text())
    if (pathname === '/revoke') return this.#revoke(form.get('token') ?? '')
    const refreshToken = form.get('refresh_token')
    return refreshToken === null ? this.#exchange(form.get('code') ?? '') : this.#refresh(refreshToken, request.signal)
  }

  #userOf(token: string): Response {
    if (!this.accepts(token)) return new Response(null, { status: 401 })
    return Response.json({ id: this.#access.get(token)?.family.user })
  }

  #revoke(token: string): Response {
    const family = this.#families.get(token) ?? this.#access.get(token)?.family
    if (family) family.isRevoked = true
    return new Response()
  }

  #exchange(code: string): Response {
    const user = this.#codes.get(code)
    if (user === undefined) return refused()
    this.#codes.delete(code)
    return this.#issue({ user, current: '', previous: undefined, isRevoked: false })
  }

  async #refresh(token: string, signal: AbortSignal): Promise<Response> {
    const family = this.#families.get(token)
    if (!family || family.isRevoked) return refused()
    // Whoever does not wait any more counts it as lost.
    if (this.#running.get(token)?.aborted === false)
      this.offences.push('a refresh token was sent twice at the same time')
    this.#running.set(token, signal)
    const { random, sleep } = this.#host
    await sleep(random.between(1, random.pick([50, 3000])))
    this.#running.delete(token)
    if (token === family.previous) {
      this.repeats += 1
      return this.#issue(family)
    }
    if (token !== family.current) {
      this.offences.push('a refresh token was sent after it was replaced')
      family.isRevoked = true
      return refused()
    }
    family.previous = token
    return this.#issue(family)
  }

  #issue(family: Family): Response {
    const { random, now } = this.#host
    const [access, refresh] = [`access-${random.uuid()}`, `refresh-${random.uuid()}`]
    const seconds = random.pick([90, 90, 3600])
    family.current = refresh
    this.#families.set(refresh, family)
    this.#access.set(access, { family, expires: now() + seconds * 1000 })
    return Response.json({ access_token: access, refresh_token: refresh, token_type: 'bearer', expires_in: seconds })
  }
}

const refused = () => Response.json({ error: 'invalid_grant' }, { status: 400 })
