import { expect, test } from 'vitest'
import { decodeBase64, encodeBase64 } from '../../worker/protocol/base64.ts'
import { encodeBase64url } from '../../worker/protocol/base64url.ts'
import { chance } from '../support/random.ts'

test('the encoder of the runtime writes the same base64 and base64url as ours', () => {
  expect('toBase64' in Uint8Array.prototype).toBe(true)
  const by = chance(1)
  for (let length = 0; length < 300; length++) {
    const bytes = Uint8Array.from({ length }, () => by.below(256))
    const text = btoa(String.fromCharCode(...bytes))
    expect(encodeBase64(bytes)).toBe(text)
    // As in Node.js, where arrays of bytes have no encoder.
    const alone = Object.assign(bytes.slice(), { toBase64: undefined }) as unknown as Uint8Array
    expect(encodeBase64(alone)).toBe(text)
    expect(encodeBase64url(alone)).toBe(encodeBase64url(bytes))
    expect(decodeBase64(text)).toEqual(bytes)
  }
})
