/** Keeps half of a character out of texts: no UTF-8 has it, and strict JSON parsers reject all of a message with its escape. */
import { utf8 } from './utf8.ts'

const escapeOfHalf = /\\u[dD][89a-fA-F]/

const backslash = 0x5c
const replacement = utf8('\\ufffd')

/**
 * Returns JSON with the replacement character for the escape of each lone surrogate, such as `\ud800`. It is as long as before. The bytes are
 * changed in place: an expression that replaces millions of escapes takes many times their memory.
 */
export function wellFormedJson(json: string): string {
  if (!escapeOfHalf.test(json)) return json
  const bytes = utf8(json)
  let at = bytes.indexOf(backslash)
  while (at !== -1) {
    const half = halfAt(bytes, at)
    const isWhole = half === 'first' && halfAt(bytes, at + 6) === 'second'
    if (half && !isWhole) bytes.set(replacement, at)
    // Another escape than of a half has no backslash after its first two characters.
    at = bytes.indexOf(backslash, at + (isWhole ? 12 : half ? 6 : 2))
  }
  return new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(bytes)
}

/** Returns which half of a character has its escape here. */
function halfAt(bytes: Uint8Array, at: number): 'first' | 'second' | undefined {
  const [slash, u, d, kind, ...digits] = bytes.subarray(at, at + 6)
  if (slash !== backslash || u !== 0x75 || !(d === 0x44 || d === 0x64)) return undefined
  const value = hexValue(kind)
  if (value < 8 || digits.length < 2 || digits.some((digit) => hexValue(digit) < 0)) return undefined
  return value < 12 ? 'first' : 'second'
}

/** Returns the value of a hexadecimal digit; -1 for another character. */
function hexValue(byte = 0): number {
  const value = Number.parseInt(String.fromCharCode(byte), 16)
  return Number.isNaN(value) ? -1 : value
}

/** Returns the start of a text, without the first half of a character at its end. */
export const startOf = (text: string, mostCharacters: number): string =>
  text.slice(0, mostCharacters).replace(/[\ud800-\udbff]$/, '')
