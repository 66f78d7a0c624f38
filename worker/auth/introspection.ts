/**
 * Asking an authorization server what a token is worth that says nothing itself.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662
 */
import type { Claims } from './claims.ts'
import type { Fetch } from './issuer-documents.ts'

export type IntrospectionOptions = {
  /** Left out, the metadata of the issuer says where. */
  url?: string
  /** What this server is registered as. */
  clientId: string
  clientSecret: string
}

/** Milliseconds to wait for an answer. */
const patience = 5_000

export class Introspection {
  readonly #options: IntrospectionOptions
  readonly #fetch: Fetch

  constructor(options: IntrospectionOptions, fetch: Fetch) {
    this.#options = options
    this.#fetch = fetch
  }

  /**
   * @returns what the token stands for; `undefined`: nothing
   * @throws Error when there is no answer
   */
  async ask(token: string, url: string): Promise<Claims | undefined> {
    const { clientId, clientSecret } = this.#options
    const response = await this.#fetch(url, {
      method: 'POST',
      redirect: 'manual',
      signal: AbortSignal.timeout(patience),
      headers: {
        Accept: 'application/json',
        // Form encoding first: RFC 6749, section 2.3.1.
        Authorization: `Basic ${btoa([clientId, clientSecret].map(encodeURIComponent).join(':'))}`,
      },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
    })
    if (!response.ok) {
      await response.body?.cancel()
      throw new Error(`${url} answers with ${response.status}`)
    }
    const claims = (await response.json()) as Claims
    return claims?.active === true ? claims : undefined
  }
}
