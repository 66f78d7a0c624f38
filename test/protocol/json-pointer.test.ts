import { describe, expect, test } from 'vitest'
import { resolveFragment, resolvePointer } from '../../worker/protocol/json-pointer.ts'

// The document and the pointers of RFC 6901, section 5.
const document = { foo: ['bar', 'baz'], '': 0, 'a/b': 1, 'c%d': 2, 'e^f': 3, 'k"l': 6, ' ': 7, 'm~n': 8 }

describe('resolvePointer', () => {
  test.each([
    ['', document],
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/c%d', 2],
    ['/k"l', 6],
    ['/ ', 7],
    ['/m~0n', 8],
  ])('finds what %j names', (pointer, value) => {
    expect(resolvePointer(document, pointer)).toEqual(value)
  })

  test.each(['foo', '/bar', '/foo/2', '/foo/-', '/foo/length', '/constructor', '/foo/0/length', '/ /x'])(
    'finds nothing at %j',
    (pointer) => {
      expect(resolvePointer(document, pointer)).toBeUndefined()
    },
  )

  test('decodes ~01 as ~1, not as a slash', () => {
    expect(resolvePointer({ '~1': 'tilde', '/': 'slash' }, '/~01')).toBe('tilde')
  })
})

describe('resolveFragment', () => {
  test.each([
    ['#', document],
    ['#/foo/1', 'baz'],
    ['#/a~1b', 1],
    ['#/c%25d', 2],
    ['#/e%5Ef', 3],
    ['#/m~0n', 8],
  ])('finds what %j names', (reference, value) => {
    expect(resolveFragment(document, reference)).toEqual(value)
  })

  test('treats a percent sign without an encoding as a character', () => {
    expect(resolveFragment({ '100%': 'all' }, '#/100%')).toBe('all')
  })

  test.each(['/foo', 'other.json#/foo', '#foo'])(
    'finds nothing at %j, which is not a JSON pointer fragment',
    (reference) => {
      expect(resolveFragment(document, reference)).toBeUndefined()
    },
  )
})
