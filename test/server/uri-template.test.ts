import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import * as bounds from '../../worker/protocol/bounds.ts'
import { uriTemplate } from '../../worker/protocol/uri-template.ts'

type Variables = Record<string, string | string[] | undefined>

describe('expansion', () => {
  // The examples of RFC 6570 are in rfc6570.test.ts.
  test.each<[string, Variables, string]>([
    ['a:{marks}', { marks: "'()*" }, 'a:%27%28%29%2A'],
    ['a:{marks}', { marks: '-._~' }, 'a:-._~'],
    ['a:{var:2}', { var: 'äöü' }, 'a:%C3%A4%C3%B6'],
    ['a:{var:1}', { var: '😊x' }, 'a:%F0%9F%98%8A'],
    ['a:{list*}', { list: ['a,b', 'c'] }, 'a:a%2Cb,c'],
    ['a:{list*}', { list: [] }, 'a:'],
    ['a:{?list*}', { list: [] }, 'a:'],
    ['a:{var}', { var: '日本' }, 'a:%E6%97%A5%E6%9C%AC'],
    ['a:{+encoded}', { encoded: 'a%20b' }, 'a:a%20b'],
    ['a:{+encoded}', { encoded: 'a%2Fb%E6%97%A5' }, 'a:a%2Fb%E6%97%A5'],
    ['a:{+path}', { path: '日本/x' }, 'a:%E6%97%A5%E6%9C%AC/x'],
    ['a:{+brackets}', { brackets: '[a]|"b"' }, 'a:[a]%7C%22b%22'],
    ['a:{toString}', {}, 'a:'],
    ['note://日/{x}', { x: '1' }, 'note://%E6%97%A5/1'],
    ['a:{var}{var}', { var: 'v' }, 'a:vv'],
  ])('%s with %j', (template, variables, uri) => {
    expect(uriTemplate(template).expand(variables)).toBe(uri)
  })
})

describe('matching returns the variables', () => {
  test.each<[string, string, Variables]>([
    ['note://{id}', 'note://1', { id: '1' }],
    ['note://{id}', 'note://', { id: '' }],
    ['note://{id}', 'note://a%20b', { id: 'a b' }],
    ['note://{id}', 'note://a%2Fb', { id: 'a/b' }],
    ['note://{id}', 'note://a%2fb', { id: 'a/b' }],
    ['note://{id}', 'note://a%252Fb', { id: 'a%2Fb' }],
    ['note://{id}', 'note://%41', { id: 'A' }],
    ['note://{id}', 'note://%E6%97%A5', { id: '日' }],
    ['note://{id}', 'note://%e6%97%a5', { id: '日' }],
    ['note://{id}', 'note://日本', { id: '日本' }],
    ['note://{id}', 'note://a b', { id: 'a b' }],
    ['note://{id}', 'note://a%2Cb', { id: 'a,b' }],
    ['note://{id}', 'note://it%27s%28a%29%2A%21', { id: "it's(a)*!" }],
    ['note://{id}', 'note://100%25', { id: '100%' }],
    ['note://{id}', 'note://%F0%9F%98%8A', { id: '😊' }],
    ['note://{id}/edit', 'note://edit/edit', { id: 'edit' }],
    ['a://{x}/{y}', 'a://1/2', { x: '1', y: '2' }],
    ['a://{x}/{y}', 'a://1%2F2/3', { x: '1/2', y: '3' }],
    ['a://{x}/{y}', 'a:///2', { x: '', y: '2' }],
    ['a://{x,y}', 'a://1,2', { x: '1', y: '2' }],
    ['a://{x}-{y}', 'a://1-2', { x: '1', y: '2' }],
    ['a://{x}/{x}', 'a://1/1', { x: '1' }],
    ['a://{x:3}', 'a://abc', { x: 'abc' }],
    ['a://{constructor}', 'a://1', { constructor: '1' }],
    ['note://日/{x}', 'note://日/1', { x: '1' }],
    ['note://日/{x}', 'note://%E6%97%A5/1', { x: '1' }],
    ['a://(b).*[c]/{x}', 'a://(b).*[c]/1', { x: '1' }],
    // Reserved: decoded where that loses nothing.
    ['file:///{+path}', 'file:///a/b/c.txt', { path: 'a/b/c.txt' }],
    ['file:///{+path}', 'file:///', { path: '' }],
    ['file:///{+path}', 'file:////etc/keys', { path: '/etc/keys' }],
    ['file:///{+path}', 'file:///https://evil.example', { path: 'https://evil.example' }],
    ['file:///{+path}', 'file:///a,b', { path: 'a,b' }],
    ['file:///{+path}', 'file:///a?b=c#d', { path: 'a?b=c#d' }],
    ['file:///{+path}', 'file:///a%20b', { path: 'a b' }],
    ['file:///{+path}', 'file:///日本/x', { path: '日本/x' }],
    ['file:///{+path}', 'file:///%E6%97%A5%E6%9C%AC/x', { path: '日本/x' }],
    ['file:///{+path}', 'file:///a%2Fb', { path: 'a%2Fb' }],
    ['file:///{+path}', 'file:///100%25', { path: '100%25' }],
    ['file:///{+path}/raw', 'file:///a/raw/raw', { path: 'a/raw' }],
    ['a://x{#part}', 'a://x#a/b', { part: 'a/b' }],
    // Lists.
    ['a://{list*}', 'a://1,2,3', { list: ['1', '2', '3'] }],
    ['a://{list*}', 'a://1', { list: ['1'] }],
    ['a://{list*}', 'a://a%2Cb,c', { list: ['a,b', 'c'] }],
    ['a://x{/path*}', 'a://x/1/2', { path: ['1', '2'] }],
    ['a://x{/path*}', 'a://x/1%2F2/3', { path: ['1/2', '3'] }],
    ['a://x{/path*}', 'a://x', { path: [] }],
    ['a://x{.ext*}', 'a://x.tar.gz', { ext: ['tar', 'gz'] }],
    ['a://x{/p}', 'a://x/1', { p: '1' }],
    ['a://x{.ext}', 'a://x.tar.gz', { ext: 'tar.gz' }],
    // Queries.
    ['a://x{?q,lang}', 'a://x', {}],
    ['a://x{?q,lang}', 'a://x?q=1', { q: '1' }],
    ['a://x{?q,lang}', 'a://x?lang=en', { lang: 'en' }],
    ['a://x{?q,lang}', 'a://x?q=1&lang=en', { q: '1', lang: 'en' }],
    ['a://x{?q,lang}', 'a://x?lang=en&q=1', { q: '1', lang: 'en' }],
    ['a://x{?q,lang}', 'a://x?q=', { q: '' }],
    ['a://x{?q,lang}', 'a://x?q=a%26b%3Dc', { q: 'a&b=c' }],
    ['a://x{?q,lang}', 'a://x?q=%E6%97%A5', { q: '日' }],
    ['a://x{?tags*}', 'a://x?tags=1&tags=2', { tags: ['1', '2'] }],
    ['a://x{?tags*}', 'a://x?tags=1', { tags: ['1'] }],
    ['a://x{?tags*}', 'a://x', {}],
    ['a://x?fixed=1{&y}', 'a://x?fixed=1&y=2', { y: '2' }],
    ['a://x?fixed=1{&y}', 'a://x?fixed=1', {}],
    ['a://x{;a,b}', 'a://x;a=1;b', { a: '1', b: '' }],
    ['a://{x}{?q}', 'a://1?q=2', { x: '1', q: '2' }],
    ['a://x{?q}{&lang}', 'a://x?q=1&lang=en', { q: '1', lang: 'en' }],
    ['a://x{?q}{&lang}', 'a://x?q=1', { q: '1' }],
    ['a://x{?tags*,q}', 'a://x?tags=1&q=2&tags=3', { tags: ['1', '3'], q: '2' }],
    ['a://x{?q}#end', 'a://x?q=1#end', { q: '1' }],
    ['a://x{?q,q.a}', 'a://x?q.a=1&q=2', { q: '2', 'q.a': '1' }],
    // As much as there is for each, from the left, as long as the rest finds something.
    ['a://{x}-{y}', 'a://1-2-3', { x: '1-2', y: '3' }],
    ['a://{x}{y}', 'a://12', { x: '12', y: '' }],
    ['a://{x}.{ext}', 'a://a.tar.gz', { x: 'a.tar', ext: 'gz' }],
    ['a://{+path}/{name}', 'a://a/b/c', { path: 'a/b', name: 'c' }],
    ['a://{x}2{y}', 'a://b2a%20c', { x: 'b', y: 'a c' }],
    ['a://x{/path*,name}', 'a://x/1/2/3', { path: ['1', '2'], name: '3' }],
    ['a://x{/path*}/raw', 'a://x/1/raw/raw', { path: ['1', 'raw'] }],
    ['a://x{/path*}/raw', 'a://x/raw', { path: [] }],
    ['a://{x:1}/{x}', 'a://v/value', { x: 'value' }],
    ['a://{x}/{x:1}', 'a://value/v', { x: 'value' }],
    // Other spellings of the same URI.
    ['a://{x}/B:{y}', 'A://1/B:2', { x: '1', y: '2' }],
    ['a://{x}/y', 'a://%7e%2D1/%79', { x: '~-1' }],
    ['file:///{+path}', 'file:///a b"c', { path: 'a b"c' }],
    ['a://x{?q}', 'a://x?q=a|b', { q: 'a|b' }],
    ['a://{__proto__}', 'a://1', JSON.parse('{ "__proto__": "1" }')],
  ])('of %s in %s', (template, uri, variables) => {
    expect({ ...uriTemplate(template).match(uri) }).toEqual(variables)
  })
})

describe('matching fails', () => {
  test.each<[string, string, string]>([
    ['another scheme', 'note://{id}', 'file://1'],
    ['another segment', 'note://{id}', 'note://a/b'],
    ['the rest of a path', 'note://{id}/edit', 'note://1/edit/'],
    ['half of a template', 'note://{id}/edit', 'note://1'],
    ['an unexpected query', 'note://{id}', 'note://1?x=1'],
    ['an unexpected fragment', 'note://{id}', 'note://1#x'],
    ['a list where one value is wanted', 'note://{id}', 'note://a,b'],
    ['a reserved character that is not encoded', 'note://{id}', 'note://a!b'],
    ['an invalid encoding', 'note://{id}', 'note://%zz'],
    ['half an encoding', 'note://{id}', 'note://a%2'],
    ['bytes that are no text', 'note://{id}', 'note://%FF'],
    ['a longer prefix', 'a://{x:3}', 'a://abcd'],
    ['two values where one is wanted', 'a://{x}/{x}', 'a://1/2'],
    ['one value where two are wanted', 'a://{x,y}', 'a://1'],
    ['three values where two are wanted', 'a://{x,y}', 'a://1,2,3'],
    ['no segment where one is wanted', 'a://x{/p}', 'a://x'],
    ['two segments where one is wanted', 'a://x{/p}', 'a://x/1/2'],
    ['no label where one is wanted', 'a://x{.ext}', 'a://x'],
    ['no fragment where one is wanted', 'a://x{#part}', 'a://x'],
    ['another query', 'a://x{?q}', 'a://x?z=1'],
    ['another query in a list', 'a://x{?q*}', 'a://x?z=1'],
    ['more query', 'a://x{?q}', 'a://x?q=1&z=2'],
    ['a part of the query twice', 'a://x{?q,lang}', 'a://x?q=1&q=2'],
    ['a name without a value', 'a://x{?q}', 'a://x?q'],
    ['an empty query', 'a://x{?q}', 'a://x?'],
    ['a missing fixed query', 'a://x?fixed=1{&y}', 'a://x?y=2'],
    ['any character for a dot', 'a://b.c/{x}', 'a://bxc/1'],
    ['nothing', 'note://{id}', ''],
  ])('%s: %s does not match %s', (_, template, uri) => {
    expect(uriTemplate(template).match(uri)).toBeUndefined()
  })
})

describe('matching a long URI is fast', () => {
  // Each of these would take minutes if a match tried one split after the other.
  const length = 8_000
  test.each<[string, string]>([
    ['a:{x}-{y}-{z}!', '-'],
    ['a:{v}{w}{x}{y}{z}!', 'x'],
    ['a:{+x}/{+y}/{+z}{undef}/end', '/'],
    ['a:{x*},{y*},{z*}!', ','],
    ['a:{/x*}{/y*}{/z*}!', '/x'],
    ['a:{?x*}!', '?x=1&x=2'],
    ['a:{x}', '%'],
    ['a:{x}', '('],
    ['a:{x}', '\ud800'],
  ])('%s fails on many times %j', (template, text) => {
    expect(Object.keys(uriTemplate(template).match(`a:${text.repeat(length / text.length)}`) ?? {})).toEqual([])
  })

  test('returns long variables', () => {
    const { match } = uriTemplate('a:{x}-{y}{?tags*}')
    const found = match(`a:${'-'.repeat(length / 2)}?${'tags=1&'.repeat(length / 20)}tags=2`)
    expect(found?.x).toHaveLength(length / 2 - 1)
    expect(found?.tags).toHaveLength(length / 20 + 1)
  })

  test('fails on a URI beyond the bound', () => {
    const { match } = uriTemplate('a:{x}')
    expect(match(`a:${'x'.repeat(bounds.uriCharacters - 2)}`)).toBeDefined()
    expect(match(`a:${'x'.repeat(bounds.uriCharacters - 1)}`)).toBeUndefined()
    // Percent-encoded it is nine times as long.
    expect(match(`a:${'日'.repeat(1_000)}`)).toBeUndefined()
  })
})

describe('an expanded URI matches its template', () => {
  const values = [
    'a',
    ' ',
    'a b',
    'a/b',
    'a?b',
    'a#b',
    'a%b',
    '%41',
    '%2F',
    'a,b',
    'é',
    '日本',
    '😊',
    "!*'()",
    ';a=b&c',
    'a+b',
    '\n',
    '"',
    '<>',
    '[]',
    '@:$',
    '~-_',
    'a|b',
    '\\',
    '`^{}',
    '=',
    'a=b',
    '&',
  ]
  test.each(['a://{x}', 'a://{x}/y', 'a://y{/x}', 'a://y{.x}', 'a://y{;x}', 'a://y{?x}', 'a://y?f=1{&x}', 'a://{x,y}'])(
    'in %s',
    (text) => {
      const template = uriTemplate(text)
      for (const x of values) {
        const variables = text.includes(',y') ? { x, y: 'y' } : { x }
        expect(template.match(template.expand(variables))).toEqual(variables)
      }
    },
  )

  test.each(['a://{x*}', 'a://y{/x*}', 'a://y{;x*}', 'a://y{?x*}', 'a://y?f=1{&x*}'])('in %s', (text) => {
    const template = uriTemplate(text)
    for (const x of values.flatMap((value) => [[value], [value, 'b'], ['b', value, 'c']])) {
      expect(template.match(template.expand({ x }))).toEqual({ x })
    }
  })

  test.each(['a://{+x}', 'a://y{#x}'])('in %s, decoded where possible', (text) => {
    const template = uriTemplate(text)
    for (const x of values) {
      const found = template.match(template.expand({ x })) as Variables
      expect(found).toBeDefined()
      expect(template.match(template.expand(found))).toEqual(found)
    }
  })
})

describe('a URI template', () => {
  test('has its text and its names', () => {
    const template = uriTemplate('a://{x}/{+y}{/z*}{?q,lang,p:3}')
    expect(template.text).toBe('a://{x}/{+y}{/z*}{?q,lang,p:3}')
    expect(template.names).toEqual(['x', 'y', 'z', 'q', 'lang', 'p'])
  })

  test.each([
    '{',
    '}',
    '{}',
    '{x',
    'x}',
    '{{x}}',
    '{x}}',
    '{ x }',
    '{x y}',
    '{!x}',
    '{=x}',
    '{|x}',
    '{@x}',
    '{x:0}',
    '{x:10000}',
    '{x:}',
    '{x**}',
    '{x*:3}',
    '{x:3*}',
    '{x,}',
    '{,x}',
    '{?}',
    '{x-y}',
    '{.}',
    '{x.}',
    '{x..y}',
    '{%}',
    '{%2}',
  ])('is invalid: a://%s', (text) => {
    expect(() => uriTemplate(`a://${text}`)).toThrow(`Invalid URI template "a://${text}": write variables as {name}`)
  })

  test.each(['{x}', '{_x1}', '{x.y}', '{%20}', '{x:1}', '{x:9999}', '{x*}', '{x,y*,z:3}', '{?x,y}'])(
    'can have %s',
    (text) => {
      expect(uriTemplate(`a://${text}`).text).toBe(`a://${text}`)
    },
  )
})

describe('a URI built from a template', () => {
  const uri = (text: string, variables: object) => uriTemplate(text).uri(variables as Variables)

  test('requires each variable that is not a list or part of a query', () => {
    expect(() => uri('note://{id}', {})).toThrow(
      'The URI template "note://{id}" needs the variable "id": give it a string',
    )
    expect(() => uri('a://{x}/{y}', { x: '1' })).toThrow('needs the variable "y"')
    expect(uri('a://{x}{/more*}{?tag}', { x: '1' })).toBe('a://1')
  })

  test.each([1, true, null, {}, [1]])('cannot have the value %j', (id) => {
    expect(() => uri('note://{id}', { id })).toThrow(
      'The variable "id" of a URI template must be a string or a list of strings',
    )
  })
})

describe.each(['production', 'development'])('with NODE_ENV %s, a template of another server', (mode) => {
  beforeEach(() => {
    vi.stubEnv('NODE_ENV', mode)
    vi.resetModules()
  })
  afterEach(() => {
    vi.unstubAllEnvs()
    vi.resetModules()
  })

  test.each(['x:{?(((a+)+)+)}', 'x:{a|b}', 'x:{?a)|(b}', 'x:{', 'x:{}', 'x:{a*b}', 'x:{a:x}', 'x:{$a}', 'x:{?[}'])(
    '%s is refused before a regular expression is built',
    async (text) => {
      const { uriTemplate: fresh } = await import('../../worker/protocol/uri-template.ts')
      expect(() => fresh(text)).toThrow(`Invalid URI template "${text}": write variables as {name}`)
    },
  )

  test('with "." in a name matches the dot only', async () => {
    const { uriTemplate: fresh } = await import('../../worker/protocol/uri-template.ts')
    expect(fresh('x:{?a.b}{&axb}').match('x:?a.b=1&axb=2')).toEqual({ 'a.b': '1', axb: '2' })
  })
})
