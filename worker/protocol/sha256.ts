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
  const state = initialState.slice()
  for (let at = 0; at < message.byteLength; at += blockBytes) compress(state, message, at)
  const digest = new DataView(new ArrayBuffer(32))
  for (let index = 0; index < 8; index++) digest.setInt32(index * 4, state[index] ?? 0)
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

/**
 * Processes one block of the message. Section 6.2.2. The rotations are written out, and the words are variables: with functions and lists
 * this takes six times as long in a Worker.
 */
function compress(state: Int32Array, message: DataView, at: number): void {
  for (let turn = 0; turn < 16; turn++) schedule[turn] = message.getInt32(at + turn * 4)
  for (let turn = 16; turn < 64; turn++) {
    const early = schedule[turn - 15] ?? 0
    const late = schedule[turn - 2] ?? 0
    const small0 = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3)
    const small1 = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10)
    schedule[turn] = (schedule[turn - 16] ?? 0) + small0 + (schedule[turn - 7] ?? 0) + small1
  }
  let a = state[0] ?? 0
  let b = state[1] ?? 0
  let c = state[2] ?? 0
  let d = state[3] ?? 0
  let e = state[4] ?? 0
  let f = state[5] ?? 0
  let g = state[6] ?? 0
  let h = state[7] ?? 0
  for (let turn = 0; turn < 64; turn++) {
    const big1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const choice = (e & f) ^ (~e & g)
    const first = (h + big1 + choice + (roundConstants[turn] ?? 0) + (schedule[turn] ?? 0)) | 0
    const big0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
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
  const words = [a, b, c, d, e, f, g, h]
  for (let index = 0; index < 8; index++) state[index] = (state[index] ?? 0) + (words[index] ?? 0)
}

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
