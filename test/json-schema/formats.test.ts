import { describe, expect, test } from 'vitest'
import { compile } from '../../worker/declarations/json-schema/compile.ts'
import { formats } from '../../worker/declarations/json-schema/formats.ts'
import { Work } from '../../worker/declarations/json-schema/work.ts'
import { count } from '../support/full.ts'

const isValid = (format: string, value: unknown) => compile({ format }, 'inputSchema of tool "x"')(value).length === 0

type Row = { valid: readonly string[]; invalid: readonly string[] }

const dots = (count: number, part: string) => Array.from({ length: count }, () => part).join('.')

const rows: Readonly<Record<string, Row>> = {
  date: {
    valid: ['2026-07-28', '2024-02-29', '2000-02-29', '0000-01-01'],
    invalid: [
      '2026-19-39',
      '2026-02-29',
      '1900-02-29',
      '2026-06-31',
      '2026-00-01',
      '2026-7-28',
      '28.7.2026',
      ' 2026-07-28',
    ],
  },
  time: {
    valid: ['12:30:00Z', '12:30:00.25z', '12:30:00+05:30', '23:59:60Z', '15:59:60-08:00', '00:59:60+01:00'],
    invalid: [
      '12:30',
      '12:30:00',
      '24:00:00Z',
      '12:60:00Z',
      '12:30:60Z',
      '12:30:00+24:00',
      '12:30:00+0530',
      '12:30:00.Z',
    ],
  },
  'date-time': {
    valid: ['2026-07-28T12:30:00Z', '2026-07-28t12:30:00.5+02:00', '2016-12-31T23:59:60Z'],
    invalid: [
      '2026-07-28',
      '2026-07-28T12:30:00',
      '2026-07-28 12:30:00Z',
      '2026-02-30T12:30:00Z',
      '2026-07-28T25:30:00Z',
    ],
  },
  duration: {
    valid: ['P1Y', 'P1Y2M3DT4H5M6S', 'PT0S', 'P3W', 'P1DT12H', 'P2M3D'],
    invalid: ['', 'P', 'PT', 'P1DT', '1D', 'P1Y2D', 'PT1H2S', 'P1W1D', 'P1H', 'PT0.5S', '-P1D', 'p1d'],
  },
  email: {
    valid: [
      'ada@example.com',
      'ada+mcp@example.com',
      "o'hara@localhost",
      '"a b"@example.com',
      '"a\\"b@c"@example.com',
      'ada@[192.0.2.1]',
      'ada@[IPv6:2001:db8::1]',
    ],
    invalid: [
      'ada',
      '@example.com',
      'ada@',
      '.ada@example.com',
      'ada.@example.com',
      'a..da@example.com',
      'a da@example.com',
      'ada@exa_mple.com',
      'ada@[192.0.2.256]',
      'ädä@example.com',
      'ada@example.com\n',
    ],
  },
  'idn-email': {
    valid: ['ada@example.com', 'ädä@exämple.com', '用户@例え.テスト'],
    invalid: ['ädä', 'ä ä@exämple.com', '@exämple.com', 'ädä@exä_mple.com'],
  },
  hostname: {
    valid: ['example', 'www.example.com', '1a', 'a-b.c', 'xn--bcher-kva.example', 'a'.repeat(63), dots(63, 'abc')],
    invalid: [
      '',
      '.',
      'a.',
      '.a',
      'a..b',
      '-a',
      'a-',
      'a_b',
      'a b',
      'ab--cd',
      'bücher.example',
      'a'.repeat(64),
      dots(64, 'abc'),
    ],
  },
  'idn-hostname': {
    valid: ['example.com', 'bücher.example', '例え。テスト', 'straße.de'],
    invalid: ['', '-bücher', 'bü cher', 'bücher/a', 'bücher?a', 'a@bücher', 'bücher:80', 'bü_cher', 'bücher..example'],
  },
  ipv4: {
    valid: ['0.0.0.0', '192.0.2.1', '255.255.255.255'],
    invalid: ['', '256.0.0.1', '1.2.3', '1.2.3.4.5', '01.2.3.4', '0x1.2.3.4', '1.2.3.4/24', ' 1.2.3.4', '１.2.3.4'],
  },
  ipv6: {
    valid: ['::', '::1', '2001:db8::1', '2001:DB8:0:0:0:0:0:1', '::ffff:192.0.2.1', '1:2:3:4:5:6:7::'],
    invalid: [
      '',
      ':',
      ':::',
      '1::2::3',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '12345::',
      'g::',
      '::1%eth0',
      '[::1]',
      '::ffff:192.0.2.01',
      '::192.0.2',
      '::1\n',
    ],
  },
  uri: {
    valid: [
      'https://example.com/?a#b',
      'urn:a',
      'file:///a',
      'mailto:ada@example.com',
      'http://a:b@[2001:db8::1]:80/',
      'note://%E6%97%A5',
      'a:',
    ],
    invalid: [
      '',
      '/a',
      '//example.com',
      'example',
      '1a:b',
      'http://a b',
      'http://日/',
      'http://a/%4',
      'http://a/%zz',
      'http://a:b/',
      'http://[::1/',
      'http://[1.2.3.4]/',
      'http://a/[b]',
      'http://a/<b>',
      'http://a\\b',
      'http://a@b@c/',
    ],
  },
  'uri-reference': {
    valid: ['', 'https://example.com/', '//example.com/a', '/a', 'a/b', '../a', '?a=b', '#c', './a:b'],
    invalid: ['a b', '\\\\a\\b', '/日', '#a#b', '/%', '1a:b', '//a:b/', '/{id}'],
  },
  iri: {
    valid: ['https://例え.テスト/日?本#語', 'urn:a', 'http://a/𐌀'],
    invalid: ['/日', '日', 'http://日 本', 'http://日/%4', 'http://日\\本', 'http://a/\ud800', 'http://a/\ufffe'],
  },
  'iri-reference': {
    valid: ['', '/日', '日', '#日', '//例え.テスト'],
    invalid: ['日 本', '日\\本', '/日/%', '/\ue000'],
  },
  'uri-template': {
    valid: ['', 'https://example.com', 'note://{id}', '{+path}{?q,lang*}{&p:3}', 'a%20b', '日/{x.y}', '{%41}'],
    invalid: [
      '{',
      '}',
      '{}',
      '{a',
      'a}',
      '{{a}}',
      '{a,}',
      '{a b}',
      '{a:0}',
      '{a:12345}',
      '{a**}',
      '{a..b}',
      '{a%4}',
      'a b',
      'a%4',
      '{a-b}',
    ],
  },
  uuid: {
    valid: [
      '123e4567-e89b-12d3-a456-426614174000',
      '123E4567-E89B-12D3-A456-426614174000',
      '00000000-0000-0000-0000-000000000000',
    ],
    invalid: [
      '',
      '123e4567e89b12d3a456426614174000',
      '123e4567-e89b-12d3-a456-42661417400',
      '123e4567-e89b-12d3-a456-42661417400g',
      'urn:uuid:123e4567-e89b-12d3-a456-426614174000',
    ],
  },
  'json-pointer': {
    valid: ['', '/', '/a', '/a//b', '/a~0b~1c', '/日', '/a b', '/a\nb'],
    invalid: ['a', '#/a', '/~', '/~2', '/a~/b'],
  },
  'relative-json-pointer': {
    valid: ['0', '0#', '1/a', '10/a~1b', '2/'],
    invalid: ['', '/a', '-1', '01', '0##', '0#/a', '1a', '1/~', '1\n'],
  },
  regex: {
    valid: ['', '^a+$', '(?<year>\\d{4})', '(?<=a)b', '\\p{L}', '[^]'],
    invalid: ['(', '[a', '*', '(?i)a', '(?P<a>b)', '\\a', 'a{2,1}'],
  },
}

describe('the format', () => {
  test.each(Object.entries(rows))('%s', (format, { valid, invalid }) => {
    expect(valid.filter((value) => !isValid(format, value))).toEqual([])
    expect(invalid.filter((value) => isValid(format, value))).toEqual([])
  })

  test('names all have rows in this test', () => {
    expect(Object.keys(rows)).toEqual([...formats.keys()])
  })

  test.each([...formats])('%s has a valid example in its error', (format, { example }) => {
    expect(isValid(format, example)).toBe(true)
    expect(compile({ format }, '')('\\ ~')).toEqual([
      { path: '', message: `must be a valid ${format}, such as ${example}` },
    ])
  })

  test.each([...formats.keys()])('%s accepts values that are not strings', (format) => {
    for (const value of [1, true, null, [], {}]) expect(isValid(format, value)).toBe(true)
  })
})

/** A body holds 4 MB. Checks whose time grew with the square of the length would take hours, recursive ones would exceed the stack. */
const characters = count(100_000, 4_000_000)

describe(`every format checks a text of ${characters} characters`, () => {
  const pieces = [
    'a',
    '1',
    '0',
    ' ',
    '.',
    '-',
    ':',
    '/',
    '@',
    '"',
    '~',
    '~0',
    '%',
    '%41',
    '{',
    '}',
    '{a',
    '{a}',
    '{a,b}',
    '[',
    '\\',
    '(',
    'P1Y',
    'P',
    'é',
    '😊',
    '\ud800',
    'a.',
    'a@',
    '1:',
    '::',
  ]
  const leads = ['', '/', 'a:', 'a://', 'http://[', '"', 'P', '{', '{a']

  test.each(pieces)('that repeats %j', (piece) => {
    const long = piece.repeat(characters / piece.length)
    for (const lead of leads) {
      // One text for all formats: to build it costs as much as to check it.
      const text = lead + long
      for (const [name, format] of formats) {
        const expected = name === 'regex' ? 'undefined' : 'boolean'
        expect([lead, name, typeof new Work().matches(format, text)]).toEqual([lead, name, expected])
      }
    }
  })
})
