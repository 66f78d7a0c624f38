import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { startOf, wellFormedJson } from '../../worker/protocol/well-formed.ts'

test.each([
  ['a first half', String.raw`"\ud800"`, String.raw`"\ufffd"`],
  ['a second half', String.raw`"\uDC00x"`, String.raw`"\ufffdx"`],
  ['halves in the wrong order', String.raw`"\udc00\ud800"`, String.raw`"\ufffd\ufffd"`],
  ['halves with a text between them', String.raw`"\ud800x\udc00"`, String.raw`"\ufffdx\ufffd"`],
  ['a half before a whole character', String.raw`"\ud800\ud83d\ude00"`, String.raw`"\ufffd\ud83d\ude00"`],
  ['a half after a whole character', String.raw`"\uD83D\uDE00\uDE00"`, String.raw`"\uD83D\uDE00\ufffd"`],
  ['a half after an escaped backslash', String.raw`"\\\ud800"`, String.raw`"\\\ufffd"`],
  ['a half in the name of a member', String.raw`{"\ud800":1}`, String.raw`{"\ufffd":1}`],
])('%s is replaced in JSON', (_, json, mended) => {
  expect(wellFormedJson(json)).toBe(mended)
})

test.each([
  ['a whole character', String.raw`"\uD83D\uDE00"`],
  ['an escaped backslash before such letters', String.raw`"\\ud800 \\\\ud800"`],
  ['other escapes', String.raw`"\n\"A\ue000\ud7ff"`],
  ['what is no JSON', String.raw`"\UD800 \ud80 \ud8"`],
])('%s stays in JSON', (_, json) => {
  expect(wellFormedJson(json)).toBe(json)
})

test('any JSON has the same value, with well-formed texts', () => {
  const parts = [String.raw`\\`, String.raw`\ud83d`, String.raw`\uDE00`, String.raw`\n`, 'ud83d', 'x', '\u{1f600}']
  for (let number = 0; number < parts.length ** 5; number += 1) {
    const digits = number.toString(parts.length).padStart(5, '0')
    const json = `"${[...digits].map((digit) => parts[Number(digit)]).join('')}"`
    expect(JSON.parse(wellFormedJson(json))).toBe(JSON.parse(json).toWellFormed())
  }
})

test.each([String.raw`\\`, String.raw`\ud83d\ude00`, String.raw`\"`, 'a'])('a long text of %s is mended', (part) => {
  const text = part.repeat(8_000_000 / part.length)
  expect(wellFormedJson(String.raw`"${text}\ud800"`) === String.raw`"${text}\ufffd"`).toBe(true)
})

test.each([String.raw`\\\ud800`, String.raw`\ud800x`])(
  'an answer full of %s fits in the memory of an isolate',
  (part) => {
    const module = resolve(import.meta.dirname, '../../worker/protocol/well-formed.ts')
    const code = `import { wellFormedJson } from ${JSON.stringify(module)}
console.log(wellFormedJson(${JSON.stringify(part)}.repeat(1_000_000)).length)`
    const heap = ['--max-old-space-size=64', '--experimental-strip-types', '--no-warnings', '--input-type=module']
    const output = execFileSync(process.execPath, [...heap, '--eval', code], { encoding: 'utf8' })
    expect(output).toBe(`${part.length * 1_000_000}\n`)
  },
)

test('the start of a text has whole characters', () => {
  expect(startOf('ab', 5)).toBe('ab')
  expect(startOf('abc', 2)).toBe('ab')
  expect(startOf('a\u{1f600}b', 2)).toBe('a')
  expect(startOf('a\u{1f600}b', 3)).toBe('a\u{1f600}')
})
