import { base64url } from 'jose'
import { expect, test } from 'vitest'
import { decodeBase64url, encodeBase64url } from '../../worker/protocol/base64url.ts'
import { chance } from '../support/random.ts'

test('encodes and decodes bytes as base64url', () => {
  const by = chance(1)
  for (let length = 0; length < 300; length++) {
    const bytes = Uint8Array.from({ length }, () => by.below(256))
    const text = encodeBase64url(bytes)
    expect(text).toBe(base64url.encode(bytes))
    expect(decodeBase64url(text)).toEqual(bytes)
  }
  expect(encodeBase64url(new Uint8Array(100_000))).toHaveLength(133_334)
})

test('invalid base64url is refused', () => {
  for (const text of ['ä', '$', 'a b!', 'AAAAA']) expect(() => decodeBase64url(text), text).toThrow()
})
