import { expect, test } from 'vitest'
import { inTable, messages } from './messages.ts'
import { pageAt } from './pages.ts'

const known = new Set(pageAt('docs/reference/errors.md')?.spans.map(({ code }) => code))
const said = messages()

test('docs/reference/errors.md has every message of the sources', () => {
  const missing = said.filter(({ text }) => !known.has(inTable(text)))
  expect(missing.map(({ text, file }) => `${file}: ${inTable(text)}`)).toEqual([])
})

test('docs/reference/errors.md has no message that the sources lack', () => {
  const texts = new Set(said.map(({ text }) => inTable(text)))
  // The first cell of a row, if it is code.
  const rows = pageAt('docs/reference/errors.md')?.spans.filter(({ isFirst }) => isFirst) ?? []
  const stale = rows.filter(({ code }) => !texts.has(code))
  expect(stale.map(({ code, line }) => `docs/reference/errors.md:${line} nobody says "${code}" any more`)).toEqual([])
})

/** Rows that quote a message: code with a space in the first cell. */
const quoted =
  pageAt('AGENTS.md')?.spans.filter(({ code, isFirst }) => isFirst && / [a-z]/.test(code) && !code.startsWith('np')) ??
  []

test.each(quoted.map(({ code }) => code))('AGENTS.md quotes a message of the sources: %s', (code) => {
  // The page leaves out parts of a message, at its … and at its end.
  const parts = code.split('…').map((part) => part.trim())
  const contains = (text: string) => parts.every((part) => text.includes(part))
  expect(said.filter(({ text }) => contains(text)).map(({ file }) => file)).not.toEqual([])
})
