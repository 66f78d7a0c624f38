import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { canonicalJson } from '../../worker/protocol/canonical-json.ts'
import { sha256 } from '../../worker/protocol/sha256.ts'

const expected = (text: string) => createHash('sha256').update(text).digest('base64url')

test('hashes texts of every length up to three blocks', () => {
  for (let length = 0; length <= 192; length++) {
    const text = Array.from({ length }, (_, at) => String.fromCharCode(32 + ((at * 31 + length) % 90))).join('')
    expect(sha256(text)).toBe(expected(text))
  }
})

test.each(['grüße 👋', '\u2028', '\ud800', 'x'.repeat(100_000)])('hashes %j', (text) => {
  expect(sha256(text)).toBe(expected(text))
})

test('objects with the same members have the same canonical JSON, whatever their order', () => {
  const one = { a: [{ d: 1, c: undefined }], b: null, e: 'x' }
  expect(canonicalJson({ e: 'x', b: null, a: [{ c: undefined, d: 1 }] })).toBe(canonicalJson(one))
  expect(JSON.parse(canonicalJson(one))).toEqual(JSON.parse(JSON.stringify(one)))
  expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]))
  expect(canonicalJson([new Date(0), undefined])).toBe(JSON.stringify([new Date(0), undefined]))
  expect(canonicalJson(JSON.parse('1e400'))).not.toBe(canonicalJson(null))
})
