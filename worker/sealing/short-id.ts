/**
 * Short ids of what Durable Objects store: states and tasks. An id is 12 random bytes (the IV), 5 encrypted bytes and an authentication tag
 * of 12 bytes, as base64url. So an unknown id is rejected before an object is called.
 */
import { encodeBase64url } from '../protocol/base64url.ts'
import { bytesOf, randomBytes } from './bytes.ts'

/** The content of a short id. */
export type OpenedId = {
  /** Names what the id is for. It cannot be turned into the id, so object names and logs may contain it. */
  readonly name: string
  /** Milliseconds since 1970, `Infinity` for an id that does not expire. */
  readonly expires: number
  readonly flag: boolean
}

/** Returns the settings of AES-GCM for an IV. */
type Algorithm = (iv: Uint8Array<ArrayBuffer>) => { readonly name: string; readonly iv: Uint8Array<ArrayBuffer> }

export const ivBytes = 12
/** The name of an id: the IV and most of the encrypted bytes, without the tag that authenticates them. */
const nameCharacters = 22
const idCharacters = 39
/** An id has 5 encrypted bytes: its expiry, in units of 10 ms, and its flag. The highest expiry, in the year 2144, stands for `Infinity`. */
const [expiryUnitMs, neverExpires] = [10, 2 ** 39 - 1]

/** Returns the name of what an id is for: see `OpenedId`. */
export const nameOfId = (id: string): string => id.slice(0, nameCharacters)

/** Whether a text has the form of a short id. */
export const isShortId = (text: string): boolean => text.length === idCharacters && !text.includes('.')

/** @param expires milliseconds since 1970; `Infinity`: never */
export async function createShortId(
  key: CryptoKey,
  algorithm: Algorithm,
  expires: number,
  flag: boolean,
): Promise<string> {
  const iv = randomBytes(ivBytes)
  const content = Math.min(Math.ceil(expires / expiryUnitMs), neverExpires) * 2 + Number(flag)
  const plain = new DataView(new ArrayBuffer(5))
  plain.setUint8(0, content / 2 ** 32)
  plain.setUint32(1, content)
  const cipher = await crypto.subtle.encrypt(algorithm(iv), key, plain)
  return encodeBase64url(new Uint8Array([...iv, ...new Uint8Array(cipher)]))
}

/** Returns the content of an id that this key has authenticated. It may have expired. */
export async function openId(id: string, key: CryptoKey, algorithm: Algorithm): Promise<OpenedId | undefined> {
  try {
    const bytes = bytesOf(id)
    const settings = algorithm(bytes.subarray(0, ivBytes))
    const plain = new DataView(await crypto.subtle.decrypt(settings, key, bytes.subarray(ivBytes)))
    const content = plain.getUint8(0) * 2 ** 32 + plain.getUint32(1)
    const units = Math.floor(content / 2)
    const expires = units === neverExpires ? Number.POSITIVE_INFINITY : units * expiryUnitMs
    return { name: nameOfId(id), expires, flag: content % 2 === 1 }
  } catch {
    return undefined
  }
}
