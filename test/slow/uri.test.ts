/** URI templates and URIs at random: expansion and matching are inverse, and no accepted URI leaves its declared prefix. */
import { expect, test } from 'vitest'
import { normalizeUri, uriProblem } from '../../worker/protocol/uri.ts'
import { uriTemplate } from '../../worker/protocol/uri-template.ts'
import { type Chance, chance } from '../support/random.ts'
import { property } from './cases.ts'

const characters = [...'ab01 /?#[]@!$&\'()*+,;=:%"<>\\^`{|}~-_é日😊\n\0', '%41', '%2F', '..']

const someText = (random: Chance, without = /(?!)/) =>
  random
    .some(0, 6, () => random.one(characters))
    .filter((character) => !without.test(character))
    .join('')

/** An expression with the values of its variables. A text before the next one ends it. */
function someExpression(random: Chance, index: number, operators: readonly string[]) {
  const operator = random.one(operators)
  // A dot in a value is not encoded, so that nothing tells it from the one between labels.
  const text = () => someText(random, operator === '.' ? /\./ : undefined)
  const values: Record<string, string | string[]> = {}
  const variables = random.some(1, operator === '' ? 1 : 3, (number) => {
    const name = `v${index}${'xyz'[number]}`
    const kind = random.below(3)
    const isNamed = /[;?&]/.test(operator)
    if (kind === 0) {
      const length = random.whole(1, 4)
      values[name] = [...text()].slice(0, length).join('')
      return `${name}:${length}`
    }
    // Two lists in a row have no border between them.
    if (kind === 1 && (isNamed || number === 0)) {
      values[name] = random.some(1, 3, text)
      return `${name}*`
    }
    if (!isNamed || random.often(0.7)) values[name] = text()
    return name
  })
  return { text: `{${operator}${variables.join(',')}}`, values }
}

property('matching the expansion of a template gives its values back', 20_000, (random) => {
  const path = random.some(0, 2, (index) => someExpression(random, index, ['', '.', '/', ';']))
  const query = random.often(0.5) ? [someExpression(random, 9, ['?'])] : []
  const all = [...path, ...query]
  const template = uriTemplate(`a://h${all.map(({ text }, index) => `/-${index}-${text}`).join('')}`)
  const values = Object.assign({}, ...all.map((each) => each.values))
  const uri = template.expand(values)
  expect({ template: template.text, uri, found: { ...template.match(uri) } }).toEqual({
    template: template.text,
    uri,
    found: values,
  })
})

property('the match of a reserved expression expands to the same URI', 20_000, (random) => {
  const before = random.some(0, 2, (index) => someExpression(random, index, ['', '.', '/', ';']))
  const reserved = random.one(['{+r}', '{#r}', '{+r*}', '{#r*}', '{+r}/end', '{#r}/end'])
  const template = uriTemplate(`a://h${before.map(({ text }, index) => `/-${index}-${text}`).join('')}/-r-${reserved}`)
  // A percent sign before two hex digits counts as encoded, and what it encodes may be no text.
  const value = () => someText(random, /^%$/)
  const r = reserved.includes('*') ? random.some(1, 3, value) : value()
  const uri = template.expand(Object.assign({ r }, ...before.map((each) => each.values)))
  const found = template.match(uri)
  expect(found, `${template.text} in ${uri}`).toBeDefined()
  expect(normalizeUri(template.expand(found ?? {})), template.text).toBe(normalizeUri(uri))
})

const prefixes = [
  'file:///data/',
  'https://h/a/b/',
  'http://h:80/a/',
  'ftp://h/a/',
  'note://h/a/',
  'note:/a/b/',
  'shop://h/things/a',
]
const pieces = [
  '.',
  '..',
  '/',
  '\\',
  '%2e',
  '%2E',
  '.%2e',
  '%252e',
  '%2f',
  '%5c',
  '%',
  '?',
  '#',
  ';',
  ':',
  '@',
  '\t',
  '\n',
  '\r',
  ' ',
  '\0',
  '%09',
  '%0a',
  '%20',
  '%00',
  'a',
  'b',
  'C:',
  '//',
  'é',
  '．',
  '。',
  '‥',
  '\u200b',
  '\ud800',
]

/** @returns the path that a URL parser finds; `undefined` where it finds no URL */
const pathOf = (uri: string) => (URL.canParse(uri) ? new URL(uri).pathname : undefined)

function someUri(random: Chance) {
  const prefix = random.one(prefixes)
  const uri =
    prefix +
    random.some(1, 8, () => (random.often(0.5) ? random.one(['/', '..', '%2e.']) : random.one(pieces))).join('')
  return { uri, isOutside: pathOf(uri)?.startsWith(new URL(prefix).pathname) === false }
}

property('no URI is accepted whose path leaves its prefix', 50_000, (random) => {
  const { uri, isOutside } = someUri(random)
  if (isOutside) expect(uriProblem(uri), JSON.stringify(uri)).toBeDefined()
})

test('the tested URIs include many outside their prefix, and many that are accepted', () => {
  const uris = Array.from({ length: 5_000 }, (_, index) => someUri(chance(index)))
  expect(uris.filter(({ isOutside }) => isOutside).length).toBeGreaterThan(200)
  expect(uris.filter(({ uri }) => uriProblem(uri) === undefined).length).toBeGreaterThan(200)
})
