/** The option `upstream`, which `proxy()` and `openApiTools()` share: requests have the token of the user for the API of a provider. */
import type { Context } from './context.ts'
import * as kind from './option-kinds.ts'

/** Configures whose token requests to another server have. */
export type UpstreamTokenOptions = {
  /**
   * Name of a provider of `signIn()`, or an object with the scopes that requests need. Each request has the token of the user that
   * `ctx.upstream()` returns, in the header `Authorization`. A token that the other server refuses is replaced once; the user is asked to
   * connect the provider, or to grant the scopes that the other server names and `signIn()` can request. Default: none.
   */
  upstream?: string | { readonly provider: string; readonly scopes?: readonly string[] }
}

export const upstreamKind: typeof kind.string = [
  (value) => kind.name[0](value) || kind.object()[0](value),
  "the name of a provider, or an object such as { provider: 'github', scopes: ['repo'] }",
  { provider: kind.required(kind.name), scopes: kind.strings },
]

/** Thrown by `ctx.upstream()` for a scope that it cannot request. */
export class UnlistedScopeError extends Error {}

/** Returns tokens of one user. */
export class UpstreamToken {
  readonly #ctx: Pick<Context, 'upstream'>
  readonly #provider: string
  readonly #scopes: readonly string[]
  #latest: string | undefined

  constructor(ctx: Pick<Context, 'upstream'>, upstream: NonNullable<UpstreamTokenOptions['upstream']>) {
    const { provider, scopes = [] } = typeof upstream === 'string' ? { provider: upstream } : upstream
    this.#ctx = ctx
    this.#provider = provider
    this.#scopes = scopes
  }

  /** @throws what `ctx.upstream()` throws */
  async get(): Promise<string> {
    this.#latest = await this.#ctx.upstream(this.#provider, { scopes: this.#scopes })
    return this.#latest
  }

  /**
   * Returns another token after the last one was refused; `undefined` if another token is no help.
   *
   * @throws what `ctx.upstream()` throws
   */
  async after({ status, challenge }: Refused): Promise<string | undefined> {
    const rejected = this.#latest
    if (rejected === undefined) return undefined
    if (status === 401) {
      const other = await this.#ctx.upstream(this.#provider, { scopes: this.#scopes, rejected })
      return other === rejected ? undefined : other
    }
    const scopes = [...new Set([...this.#scopes, ...scopesIn(challenge)])]
    if (status !== 403 || scopes.length === this.#scopes.length) return undefined
    try {
      return await this.#ctx.upstream(this.#provider, { scopes })
    } catch (problem) {
      // The refusal of the other server says more.
      if (problem instanceof UnlistedScopeError) return undefined
      throw problem
    }
  }
}

/** A response with an error status. */
export type Refused = {
  readonly status: number
  /** The header `WWW-Authenticate`. */
  readonly challenge: string | null
}

/**
 * Returns the scopes that a token lacks.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3.1
 */
export function scopesIn(challenge: string | null): readonly string[] {
  if (challenge === null || !/\berror="?insufficient_scope\b/.test(challenge)) return []
  const [, scopes = ''] = /\bscope="([!#-[\]-~ ]{1,1000})"/.exec(challenge) ?? []
  return scopes.split(' ').filter((scope) => scope !== '')
}
