/** Texts of clients in a log: without credentials, and as long as the log has them. */
import { expect, test, vi } from 'vitest'
import { writer } from '../../worker/plugins/observe/audit/log-text.ts'

const writing = (authorization: string) =>
  writer(new Request('https://mcp.example', { headers: { Authorization: authorization } }), undefined, undefined)

test.each([
  ['a-secret', 'tell a-secret', 'tell […]'],
  ['Bearer a-secret', 'a-secreta-secret', '[…][…]'],
  ['a-secret a-secret-longer', 'a-secret-longer', '[…]'],
  ['short', 'short', 'short'],
  ['a-secret', `${'x'.repeat(196)}a-secret`, `${'x'.repeat(196)}[…]`],
  ['a-secret', `${'x'.repeat(198)}a-secret`, `${'x'.repeat(198)}[…`.slice(0, 199).concat('…')],
  ['a-secret', 'a-secret'.repeat(100), `${'[…]'.repeat(66)}[…`],
])('with the credential %j, %j is %j', (authorization, text, expected) => {
  expect(writing(authorization)(text)).toBe(expected)
})

test('a long text is read as far as the log has it', () => {
  const reading = vi.spyOn(String.prototype, 'startsWith')
  const write = writing(Array.from({ length: 250 }, (_, number) => `part-${number}-of-many`).join(' '))
  reading.mockClear()
  expect(write('a'.repeat(1_000_000))).toHaveLength(200)
  expect(reading.mock.calls.length).toBeLessThan(250 * 202)
  reading.mockRestore()
})

test('credentials with too many parts to look for hide every text', () => {
  const write = writing(Array.from({ length: 1_000 }, (_, number) => `part-${number}-of-many`).join(' '))
  expect(write('hello')).toBe('[…]')
  expect(write(7)).toBeUndefined()
})
