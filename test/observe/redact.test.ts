import { expect, test } from 'vitest'
import { redacted } from '../../worker/plugins/observe/redact.ts'

const password = { type: 'string', writeOnly: true }
const deep = (levels: number): object => (levels === 0 ? password : { allOf: [deep(levels - 1)] })

test.each<[string, object]>([
  ['a pointer', { $ref: '#/$defs/password' }],
  ['an anchor', { $ref: '#secret' }],
  ['an id', { $ref: 'https://example.com/password' }],
  ['a dynamic anchor', { $dynamicRef: '#secret' }],
  ['many levels', deep(30)],
])('hides a value whose schema is behind %s', (_, property) => {
  const schema = {
    type: 'object',
    properties: { user: { type: 'string' }, password: property },
    $defs: {
      password: { ...password, $anchor: 'secret', $dynamicAnchor: 'secret', $id: 'https://example.com/password' },
    },
  }
  expect(redacted({ user: 'ada', password: 'swordfish' }, schema)).toEqual({ user: 'ada', password: '[…]' })
})
