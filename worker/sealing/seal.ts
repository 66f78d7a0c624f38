/**
 * Sealed texts that only this server can read: session ids, journals, cursors. AES-256-GCM, bound to a purpose and a principal, with an
 * expiry inside. The id of the key is in front, so that keys can be rotated.
 *
 * Short ids name what a Durable Object stores: states and tasks. An id is 12 random bytes (the IV), 5 encrypted bytes and an authentication
 * tag of 12 bytes, as base64url. So an unknown id is rejected before an object is called.
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

/** The content of a short id. */
export type OpenedId = {
  /** Names what the id is for. It cannot be turned into the id, so object names and logs may contain it. */
  readonly name: string
  /** Milliseconds since 1970, `Infinity` for an id that does not expire. */
  readonly expires: number
  readonly flag: boolean
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

/** Returns the name of what an id is for: see `OpenedId`. */
export const nameOfId = (id: string): string => id.slice(0, nameCharacters)

const ivBytes = 12
/** The name of an id: the IV and most of the encrypted bytes, without the tag that authenticates them. */
const nameCharacters = 22
const idCharacters = 39
/** An id has 5 encrypted bytes: its expiry, in units of 10 ms, and its flag. The highest expiry, in the year 2144, stands for `Infinity`. */
const [expiryUnitMs, neverExpires] = [10, 2 ** 39 - 1]

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

  async function openId(purpose: string, principal: Principal | undefined, id: string): Promise<OpenedId | undefined> {
    // An id does not name its key.
    for (const keyId of Object.keys(ring.keys)) {
      const key = await keyOf(keyId)
      if (!key) continue
      try {
        const bytes = bytesOf(id)
        const settings = idAlgorithm(bytes.subarray(0, ivBytes), purpose, principal)
        const plain = new DataView(await crypto.subtle.decrypt(settings, key, bytes.subarray(ivBytes)))
        const content = plain.getUint8(0) * 2 ** 32 + plain.getUint32(1)
        const units = Math.floor(content / 2)
        const expires = units === neverExpires ? Number.POSITIVE_INFINITY : units * expiryUnitMs
        return expires > now() ? { name: nameOfId(id), expires, flag: content % 2 === 1 } : undefined
      } catch {}
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

    async createId(purpose, principal, lifetimeMs, flag) {
      const key = await currentKey()
      const iv = randomBytes(ivBytes)
      const content = Math.min(Math.ceil((now() + lifetimeMs) / expiryUnitMs), neverExpires) * 2 + Number(flag)
      const plain = new DataView(new ArrayBuffer(5))
      plain.setUint8(0, content / 2 ** 32)
      plain.setUint32(1, content)
      const cipher = await crypto.subtle.encrypt(idAlgorithm(iv, purpose, principal), key, plain)
      return encodeBase64url(new Uint8Array([...iv, ...new Uint8Array(cipher)]))
    },

    async open(purpose, principal, sealed) {
      if (sealed.length === idCharacters && !sealed.includes('.')) return openId(purpose, principal, sealed)
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

/** Decodes a text. Returns no bytes for a spelling that was not handed out, although it decodes to the same bytes. @throws DOMException */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = decodeBase64url(text)
  return encodeBase64url(bytes) === text ? bytes : new Uint8Array()
}

/** Creates a key ring with one new key. */
export function mintKeyRing(): KeyRing {
  const id = encodeBase64url(randomBytes(6))
  return { current: id, keys: { [id]: encodeBase64url(randomBytes(32)) } }
}

const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))
