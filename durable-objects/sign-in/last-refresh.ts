/**
 * The response to the last refresh of a grant, for a client that sends the same request again: because the response was lost, or because several
 * parts of the client refresh at the same time. Each of them gets the same tokens. A second rotation would invalidate the tokens of the first. An
 * assertion of the client is no part of the request: each request has a new one, which the caller verifies.
 *
 * The response is encrypted with a key that is derived from the refresh token, so the storage alone reveals nothing.
 */
import { utf8 } from '../../worker/protocol/utf8.ts'
import { randomBytes } from '../../worker/sealing/bytes.ts'
import { sha256 } from '../../worker/sealing/sha256.ts'

type Stored = {
  /** Identifies the request. */
  readonly id: string
  readonly iv: Uint8Array<ArrayBuffer>
  readonly response: Uint8Array<ArrayBuffer>
  /** Milliseconds since 1970. */
  readonly expires: number
}

const key = 'refresh'

/** Milliseconds for which the response is repeated. */
const lifeMs = 5 * 60_000

export class LastRefresh {
  readonly #storage: DurableObjectStorage

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
  }

  /** @param request contains the refresh token and the credentials of the client */
  async find(request: string): Promise<string | undefined> {
    const stored = this.#storage.kv.get<Stored>(key)
    if (!stored || stored.expires <= Date.now() || stored.id !== (await idOf(request))) return undefined
    const plain = await crypto.subtle.decrypt(algorithm(stored.iv), await keyOf(request), stored.response)
    return new TextDecoder().decode(plain)
  }

  /** Returns what stores the response, at once. */
  async storing(request: string, response: string): Promise<() => void> {
    const iv = randomBytes(12)
    const sealed = await crypto.subtle.encrypt(algorithm(iv), await keyOf(request), utf8(response))
    const stored: Stored = {
      id: await idOf(request),
      iv,
      response: new Uint8Array(sealed),
      expires: Date.now() + lifeMs,
    }
    return () => this.#storage.kv.put(key, stored)
  }
}

const algorithm = (iv: Uint8Array<ArrayBuffer>) => ({ name: 'AES-GCM', iv })

const idOf = async (request: string): Promise<string> => [...(await sha256(`id of refresh\n${request}`))].join('.')

const keyOf = async (request: string): Promise<CryptoKey> =>
  crypto.subtle.importKey('raw', await sha256(`key of refresh\n${request}`), 'AES-GCM', false, ['encrypt', 'decrypt'])
