/**
 * The text of an API key: `<prefix>_<secret><checksum>`, with a secret of 256 random bits in 43 letters and digits, and the CRC-32 of all
 * before it in 6. Secret scanners recognize it, and the Worker rejects another text without a read.
 */
import { utf8 } from '../../protocol/utf8.ts'
import { randomBytes } from '../../sealing/bytes.ts'
import { sha256 } from '../../sealing/sha256.ts'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretCharacters = 43
const checksumCharacters = 6
const idCharacters = 22

/** Creates a key. */
export function newKeyText(prefix: string): string {
  const start = `${prefix}_${base62(numberOf(randomBytes(32)), secretCharacters)}`
  return start + checksumOf(start)
}

/** Whether a text is a key with this prefix, without a typing error. */
export function isKeyText(text: string, prefix: string): boolean {
  const start = text.slice(0, -checksumCharacters)
  return (
    text.length === prefix.length + 1 + secretCharacters + checksumCharacters &&
    text.startsWith(`${prefix}_`) &&
    /^[0-9A-Za-z]+$/.test(text.slice(prefix.length + 1)) &&
    text.endsWith(checksumOf(start))
  )
}

/** Returns the hash of a key, and its id, which names its object and is no secret. */
export async function hashOf(text: string): Promise<{ readonly hash: string; readonly id: string }> {
  const bytes = await sha256(text)
  return { hash: base62(numberOf(bytes), secretCharacters), id: base62(numberOf(bytes.subarray(0, 16)), idCharacters) }
}

/** Whether a value is the id of a key. */
export const isId = (value: unknown): value is string => typeof value === 'string' && /^[0-9A-Za-z]{22}$/.test(value)

const checksumOf = (text: string): string => base62(BigInt(crc32(utf8(text))), checksumCharacters)

const numberOf = (bytes: Uint8Array): bigint => bytes.reduce((number, byte) => number * 256n + BigInt(byte), 0n)

function base62(number: bigint, length: number): string {
  let text = ''
  for (let rest = number; text.length < length; rest /= 62n) text = digits[Number(rest % 62n)] + text
  return text
}

/** @see https://www.rfc-editor.org/rfc/rfc1952#section-8 */
function crc32(bytes: Uint8Array): number {
  let remainder = 0xffffffff
  for (const byte of bytes) {
    remainder ^= byte
    for (let bit = 0; bit < 8; bit += 1) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0xedb88320 : 0)
  }
  return (remainder ^ 0xffffffff) >>> 0
}
