/**
 * SHA-256 of a text, as base64url. Implemented here because `crypto.subtle` is asynchronous, and the engine must recognize an input request
 * before its handler continues.
 *
 * @see https://csrc.nist.gov/pubs/fips/180-4/upd1/final FIPS 180-4
 */
import { encodeBase64url } from './base64url.ts'
import { utf8 } from './utf8.ts'

export function sha256(text: string): string {
  const message = padded(utf8(text))
  const state = Int32Array.from(initialState)
  for (let at = 0; at < message.byteLength; at += blockBytes) compress(state, message, at)
  const digest = new DataView(new ArrayBuffer(32))
  for (const [index, word] of state.entries()) digest.setInt32(index * 4, word)
  return encodeBase64url(new Uint8Array(digest.buffer))
}

const blockBytes = 64

/** Pads the message to whole blocks: a bit that is set, zeros, and the length of the message in bits. Section 5.1.1. */
function padded(bytes: Uint8Array): DataView {
  const blocks = Math.ceil((bytes.length + 9) / blockBytes)
  const message = new Uint8Array(blocks * blockBytes)
  message.set(bytes)
  message[bytes.length] = 0x80
  const view = new DataView(message.buffer)
  view.setBigUint64(message.length - 8, BigInt(bytes.length) * 8n)
  return view
}

const schedule = new Int32Array(64)

/** Processes one block of the message. Section 6.2.2. */
function compress(state: Int32Array, message: DataView, at: number): void {
  for (let turn = 0; turn < 16; turn++) schedule[turn] = message.getInt32(at + turn * 4)
  for (let turn = 16; turn < 64; turn++) {
    const [early, late] = [word(schedule, turn - 15), word(schedule, turn - 2)]
    const small0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3)
    const small1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10)
    schedule[turn] = word(schedule, turn - 16) + small0 + word(schedule, turn - 7) + small1
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let turn = 0; turn < 64; turn++) {
    const big1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const choice = (e & f) ^ (~e & g)
    const first = (h + big1 + choice + word(roundConstants, turn) + word(schedule, turn)) | 0
    const big0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const second = (big0 + majority) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) state[index] = word(state, index) + value
}

const rotate = (value: number, bits: number): number => (value >>> bits) | (value << (32 - bits))
const word = (words: Int32Array, index: number): number => words[index] ?? 0

const primes: number[] = []
for (let candidate = 2; primes.length < 64; candidate++) {
  if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate)
}

/** Returns the first 32 bits of the fraction. */
const fractionOf = (value: number): number => Math.floor((value % 1) * 2 ** 32)
/** Round constants: the cube roots of the first 64 primes. Section 4.2.2. */
const roundConstants = Int32Array.from(primes, (prime) => fractionOf(Math.cbrt(prime)))
/** Initial state: the square roots of the first eight primes. Section 5.3.3. */
const initialState = Int32Array.from(primes.slice(0, 8), (prime) => fractionOf(Math.sqrt(prime)))
