/**
 * Sealed texts that only this server can read: session ids, journals, cursors. AES-256-GCM, bound to a purpose and a principal, with an
 * expiry inside. The id of the key is in front, so that keys can be rotated.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5116
 */

import { decodeBase64url, encodeBase64url } from '../protocol/base64url.ts'
import { type Principal, principalKey } from '../protocol/principal.ts'
import { utf8 } from '../protocol/utf8.ts'
import type { KeyRing } from './parse-key-ring.ts'

export { type KeyRing, parseKeyRing } from './parse-key-ring.ts'

export interface Sealer {
  /** @param lifetimeMs milliseconds until the text expires */
  seal(purpose: string, principal: Principal | undefined, value: unknown, lifetimeMs: number): Promise<string>
  /** Returns the value; `undefined` for a text that was not sealed with these keys, for this purpose and principal, or has expired. */
  open(purpose: string, principal: Principal | undefined, sealed: string): Promise<unknown>
}

/**
 * Returns a sealer whose texts only sealers of the same identity unseal, among all with the same keys.
 *
 * @param identity without line breaks, because it is a line of the associated data
 */
export const sealerFor = (sealer: Sealer, identity: string): Sealer => ({
  seal: (purpose, ...others) => sealer.seal(`${identity}\n${purpose}`, ...others),
  open: (purpose, ...others) => sealer.open(`${identity}\n${purpose}`, ...others),
})

const ivBytes = 12

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

  return {
    async seal(purpose, principal, value, lifetimeMs) {
      const key = (await keyOf(ring.current)) as CryptoKey // a ring has its current key
      const iv = randomBytes(ivBytes)
      const plain = utf8(JSON.stringify([now() + lifetimeMs, value]))
      const cipher = await crypto.subtle.encrypt(algorithm(iv, purpose, principal), key, plain)
      const sealed = new Uint8Array(ivBytes + cipher.byteLength)
      sealed.set(iv)
      sealed.set(new Uint8Array(cipher), ivBytes)
      return `${ring.current}.${encodeBase64url(sealed)}`
    },

    async open(purpose, principal, sealed) {
      const dot = sealed.indexOf('.')
      const key = await keyOf(sealed.slice(0, dot))
      if (!key) return undefined
      try {
        const bytes = decodeBase64url(sealed.slice(dot + 1))
        // One text, one spelling: what decodes to the same bytes from other characters is not what was handed out.
        if (encodeBase64url(bytes) !== sealed.slice(dot + 1)) return undefined
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

/** Creates a key ring with one new key. */
export function mintKeyRing(): KeyRing {
  const id = encodeBase64url(randomBytes(6))
  return { current: id, keys: { [id]: encodeBase64url(randomBytes(32)) } }
}

const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))
