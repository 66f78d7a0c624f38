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

/** Bytes of a hash: enough for tokens of one grant, which nobody else can choose. */
const hashBytes = 16

export class IssuedRefreshTokens {
  readonly #storage: DurableObjectStorage

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
  }

  /** @param response of the token endpoint */
  async add(response: string): Promise<void> {
    const { refresh_token: token } = JSON.parse(response)
    if (typeof token === 'string') this.#storage.kv.put(key, [...this.#hashes(), await hashOf(token)].slice(-maxTokens))
  }

  async has(token: string): Promise<boolean> {
    return this.#hashes().includes(await hashOf(token))
  }

  #hashes(): readonly string[] {
    return this.#storage.kv.get<readonly string[]>(key) ?? []
  }
}

const hashOf = async (token: string): Promise<string> => encodeBase64url((await sha256(token)).subarray(0, hashBytes))
