/**
 * Sealed texts that only this server can read: session ids, journals, cursors. AES-256-GCM, bound to a purpose and a principal, with an
 * expiry inside. The id of the key is in front, so that keys can be rotated.
 * Short ids of what Durable Objects store are in `short-id.ts`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5116
 */

import { decodeBase64url, encodeBase64url } from '../protocol/base64url.ts'
import { type Principal, principalKey } from '../protocol/principal.ts'
import { utf8 } from '../protocol/utf8.ts'
import { bytesOf, randomBytes } from './bytes.ts'
import type { KeyRing } from './parse-key-ring.ts'
import { createShortId, isShortId, ivBytes, openId } from './short-id.ts'

export { type KeyRing, parseKeyRing } from './parse-key-ring.ts'

export interface Sealer {
  /** @param lifetimeMs milliseconds until the text expires */
  seal(purpose: string, principal: Principal | undefined, value: unknown, lifetimeMs: number): Promise<string>
  /**
   * Creates an id for what a Durable Object stores. @param lifetimeMs milliseconds until the id expires; `Infinity`: never @param flag one
   * bit of information
   */
  createId(purpose: string, principal: Principal | undefined, lifetimeMs: number, flag: boolean): Promise<string>
  /**
   * Returns the value, or the `OpenedId` of an id; `undefined` for a text that was not sealed with these keys, for this purpose and
   * principal, or has expired.
   */
  open(purpose: string, principal: Principal | undefined, sealed: string): Promise<unknown>
}

/**
 * Returns a sealer whose texts only sealers of the same identity unseal, among all with the same keys.
 *
 * @param identity without line breaks, because it is a line of the associated data
 */
export const sealerFor = (sealer: Sealer, identity: string): Sealer => ({
  seal: (purpose, ...others) => sealer.seal(`${identity}\n${purpose}`, ...others),
  createId: (purpose, ...others) => sealer.createId(`${identity}\n${purpose}`, ...others),
  open: (purpose, ...others) => sealer.open(`${identity}\n${purpose}`, ...others),
})

/**
 * Returns a part of a sealed text that identifies it: no other sealed text has it. It is no secret, and can be read without a key.
 *
 * @returns `undefined` for a text that cannot be a sealed one
 */
export const readNonce = (sealed: string): string | undefined =>
  // 12 bytes are 16 characters.
  /^[^.]+\.([\w-]{16})[\w-]+$/.exec(sealed)?.[1]

export function sealer(ring: KeyRing, now: () => number = Date.now): Sealer {
  const imported = new Map<string, CryptoKey>()

  async function keyOf(id: string): Promise<CryptoKey | undefined> {
    const cached = imported.get(id)
    const text = Object.hasOwn(ring.keys, id) ? ring.keys[id] : undefined
    if (cached || text === undefined) return cached
    const bytes = decodeBase64url(text)
    const key = await crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt'])
    imported.set(id, key)
    return key
  }

  // A ring has its current key.
  const currentKey = async () => (await keyOf(ring.current)) as CryptoKey

  /** An id does not name its key. */
  async function openIdWithAny(purpose: string, principal: Principal | undefined, id: string) {
    for (const keyId of Object.keys(ring.keys)) {
      const key = await keyOf(keyId)
      const opened = key && (await openId(id, key, (iv) => idAlgorithm(iv, purpose, principal)))
      if (opened) return opened.expires > now() ? opened : undefined
    }
    return undefined
  }

  return {
    async seal(purpose, principal, value, lifetimeMs) {
      const key = await currentKey()
      const iv = randomBytes(ivBytes)
      const plain = utf8(JSON.stringify([now() + lifetimeMs, value]))
      const cipher = await crypto.subtle.encrypt(algorithm(iv, purpose, principal), key, plain)
      const sealed = new Uint8Array(ivBytes + cipher.byteLength)
      sealed.set(iv)
      sealed.set(new Uint8Array(cipher), ivBytes)
      return `${ring.current}.${encodeBase64url(sealed)}`
    },

    createId: async (purpose, principal, lifetimeMs, flag) =>
      createShortId(await currentKey(), (iv) => idAlgorithm(iv, purpose, principal), now() + lifetimeMs, flag),

    async open(purpose, principal, sealed) {
      if (isShortId(sealed)) return openIdWithAny(purpose, principal, sealed)
      const dot = sealed.indexOf('.')
      const key = await keyOf(sealed.slice(0, dot))
      if (!key) return undefined
      try {
        const bytes = bytesOf(sealed.slice(dot + 1))
        const settings = algorithm(bytes.subarray(0, ivBytes), purpose, principal)
        const plain = await crypto.subtle.decrypt(settings, key, bytes.subarray(ivBytes))
        const [expires, value] = JSON.parse(new TextDecoder().decode(plain))
        return expires > now() ? value : undefined
      } catch {
        return undefined
      }
    },
  }
}

const algorithm = (iv: Uint8Array<ArrayBuffer>, purpose: string, principal: Principal | undefined) => ({
  name: 'AES-GCM',
  iv,
  additionalData: utf8(`${purpose}\n${principalKey(principal)}`),
})

const idAlgorithm = (iv: Uint8Array<ArrayBuffer>, purpose: string, principal: Principal | undefined) => ({
  ...algorithm(iv, `${purpose} id`, principal),
  tagLength: 96,
})

/** Creates a key ring with one new key. */
export function mintKeyRing(): KeyRing {
  const id = encodeBase64url(randomBytes(6))
  return { current: id, keys: { [id]: encodeBase64url(randomBytes(32)) } }
}
