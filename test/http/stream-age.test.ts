/** The age at which a stream ends. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startAgeTimer } from '../../worker/http/stream-age.ts'

const dayMs = 24 * 60 * 60_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a stream ends with a credential that expires after 60 days', () => {
  const onAge = vi.fn()
  startAgeTimer(Number.POSITIVE_INFINITY, Date.now() + 60 * dayMs, onAge)
  vi.advanceTimersByTime(60 * dayMs - 1)
  expect(onAge).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(onAge).toHaveBeenCalledTimes(1)
})

test('a stopped timer does not end the stream, also after its first 24 days', () => {
  const onAge = vi.fn()
  const stop = startAgeTimer(Number.POSITIVE_INFINITY, Date.now() + 60 * dayMs, onAge)
  vi.advanceTimersByTime(40 * dayMs)
  stop()
  vi.advanceTimersByTime(40 * dayMs)
  expect(onAge).not.toHaveBeenCalled()
})

test('a stream without a maximum age and an expiry has no timer', () => {
  startAgeTimer(Number.POSITIVE_INFINITY, undefined, () => {})
  expect(vi.getTimerCount()).toBe(0)
})
