import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { UpstreamCache } from '../../worker/plugins/sign-in/upstream-cache.ts'

const start = 1_000_000

beforeEach(() => {
  vi.useFakeTimers({ now: start, toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const at = (ms: number) => vi.setSystemTime(start + ms)

test('returns a token for the time of the cache', () => {
  const cache = new UpstreamCache(60_000)
  cache.set('a', 'token')
  at(59_999)
  expect([cache.get('a'), cache.get('b')]).toEqual(['token', undefined])
  at(60_000)
  expect(cache.get('a')).toBeUndefined()
})

test('returns no token that is valid for less than a minute', () => {
  const cache = new UpstreamCache(60_000)
  cache.set('a', 'token', start + 90_000)
  at(29_999)
  expect(cache.get('a')).toBe('token')
  at(30_000)
  expect(cache.get('a')).toBeUndefined()
  cache.set('a', 'token', start + 90_000)
  expect(cache.get('a')).toBeUndefined()
})

test('caches nothing for 0 ms, and nothing that was deleted', () => {
  const none = new UpstreamCache(0)
  none.set('a', 'token')
  expect(none.get('a')).toBeUndefined()
  const cache = new UpstreamCache(60_000)
  cache.set('a', 'token')
  cache.delete('a')
  expect(cache.get('a')).toBeUndefined()
})
