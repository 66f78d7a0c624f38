/**
 * Hashes of the refresh tokens that were issued for a grant. One of them that is not accepted any more, and is sent nevertheless, was copied:
 * either the thief or the client uses the older copy.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.14.2
 */
import { encodeBase64url } from '../../worker/protocol/base64url.ts'
import { sha256 } from '../../worker/sealing/sha256.ts'

const key = 'issued'

/** Tokens that are known, the newest of all that were issued. */
const maxTokens = 1_000

/** Milliseconds in which no client needs so many tokens: a thief would make this server forget that of the client. */
const minAgeMs = 60 * 60_000

/** Bytes of a hash: enough for tokens of one grant, which nobody else can choose. */
const hashBytes = 16

/** `at`: milliseconds since 1970. */
type Issued = { readonly hash: string; readonly at: number }

export class IssuedRefreshTokens {
  readonly #storage: DurableObjectStorage

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
  }

  /**
   * Returns what adds the refresh token of a response, at once.
   *
   * It returns false, and adds none, when the tokens that are known were issued within an hour.
   */
  async adding(response: string): Promise<() => boolean> {
    const { refresh_token: token } = JSON.parse(response)
    if (typeof token !== 'string') return () => true
    const hash = await hashOf(token)
    return () => {
      const known = this.#known()
      const [oldest] = known
      if (oldest && known.length === maxTokens && oldest.at + minAgeMs > Date.now()) return false
      this.#storage.kv.put(key, [...known, { hash, at: Date.now() }].slice(-maxTokens))
      return true
    }
  }

  async has(token: string): Promise<boolean> {
    const hash = await hashOf(token)
    return this.#known().some((one) => one.hash === hash)
  }

  #known(): readonly Issued[] {
    return this.#storage.kv.get<readonly Issued[]>(key) ?? []
  }
}

const hashOf = async (token: string): Promise<string> => encodeBase64url((await sha256(token)).subarray(0, hashBytes))
