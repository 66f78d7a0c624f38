import { expect, test } from 'vitest'
import { serverTiming } from '../../worker/plugins/development/server-timing.ts'

const headerOf = (calls: number, what: string) =>
  serverTiming(
    7,
    Array.from({ length: calls }, (_, number) => {
      return { number, kind: 'handler' as const, what, request: 7, began: 0, milliseconds: number }
    }),
  )

test('Server-Timing has an entry for each of a few calls', () => {
  expect(headerOf(2, 'tools/call echo')).toBe('request;desc="7", tools-call-echo;dur=0, tools-call-echo;dur=1')
})

test('Server-Timing has the first calls of a large batch, and the number of the others', () => {
  const header = headerOf(900, `tools/call ${'x'.repeat(1_000)}`)
  expect(header.length).toBeLessThan(8_192)
  expect(header).toMatch(/, more;desc="850"$/)
})

test('Server-Timing stays short with a URI of a megabyte', () => {
  expect(headerOf(1, `resources/read note://${'x'.repeat(1_000_000)}`).length).toBeLessThan(200)
})
