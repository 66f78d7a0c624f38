import type { Principal } from '../protocol/principal.ts'

type Verified = { readonly origin: string; readonly principal: Principal; readonly until: number }

/** Tokens that were found good a moment ago, so that a signature is checked once and not with every request. */
export class VerifiedTokens {
  readonly #known = new Map<string, Verified>()
  readonly #most: number
  readonly #keptFor: number

  /** @param keptFor milliseconds for which a token that was good stays so */
  constructor(keptFor: number, most = 1_000) {
    this.#keptFor = keptFor
    this.#most = most
  }

  /** @param origin the server it is good for */
  get(token: string, origin: string): Principal | undefined {
    const found = this.#known.get(token)
    if (!found) return undefined
    if (found.origin === origin && found.until > Date.now()) return found.principal
    this.#known.delete(token)
    return undefined
  }

  /** @param expires milliseconds: when the token does */
  add(token: string, origin: string, principal: Principal, expires: number): void {
    const until = Math.min(expires, Date.now() + this.#keptFor)
    this.#known.delete(token)
    // The oldest goes first.
    for (const old of this.#known.keys()) {
      if (this.#known.size < this.#most) break
      this.#known.delete(old)
    }
    this.#known.set(token, { origin, principal, until })
  }
}
