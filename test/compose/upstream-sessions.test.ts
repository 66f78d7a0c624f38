import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type UpstreamSession, UpstreamSessions } from '../../worker/plugins/compose/proxy/upstream-sessions.ts'

let ended: (string | null)[]
let sessions: UpstreamSessions
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
  ended = []
  sessions = new UpstreamSessions(({ id }) => ended.push(id))
})
afterEach(() => vi.useRealTimers())

/** Adds a session that one request uses. */
function begin(key: string, id = key, headers: UpstreamSession['headers'] = {}): UpstreamSession {
  const session = {
    id,
    version: '2025-11-25',
    offered: new Set<never>(),
    headers,
    uses: 1,
    usedAtMs: Date.now(),
    isRetired: false,
  }
  sessions.add(key, session)
  return session
}
const beginAndRelease = (key: string) => sessions.release(begin(key))

test('at most a thousand sessions are kept: another one ends the least recently used one', () => {
  for (let index = 0; index < 1000; index += 1) beginAndRelease(`s${index}`)
  sessions.release(sessions.acquire('s0', {}) as UpstreamSession)
  expect(ended).toEqual([])
  beginAndRelease('one more')
  expect(ended).toEqual(['s1'])
  expect(sessions.acquire('s1', {})).toBeUndefined()
  expect(sessions.acquire('s0', {})).toBeDefined()
})

test('keys and headers have at most 2,000,000 characters together: more end the least recently used sessions', () => {
  const headers = { 'X-Key': 'x'.repeat(90_000) }
  const add = (index: number) => sessions.release(begin(`${index}`.padEnd(10_000, 'k'), `${index}`, headers))
  for (let index = 0; index < 19; index += 1) add(index)
  expect(ended).toEqual([])
  for (let index = 19; index < 40; index += 1) add(index)
  expect(ended).toEqual(Array.from({ length: 21 }, (_, index) => `${index}`))
})

test('sessions that have ended leave their characters to others', () => {
  const long = 'k'.repeat(900_000)
  beginAndRelease('first')
  for (let times = 0; times < 3; times += 1) {
    sessions.delete(long, begin(long))
    beginAndRelease(long)
    beginAndRelease(long)
    sessions.retire(long)
  }
  expect(ended).not.toContain('first')
})

test('a retired session that requests still use ends once, after the last of them', () => {
  const first = begin('ada')
  sessions.acquire('ada', {})
  sessions.retire('ada')
  sessions.retire('ada')
  sessions.release(first)
  expect(ended).toEqual([])
  sessions.release(first)
  expect(ended).toEqual(['ada'])
})

test('a second session for the same key ends the first one', () => {
  beginAndRelease('ada')
  const second = begin('ada', 'second')
  expect(ended).toEqual(['ada'])
  expect(sessions.acquire('ada', {})).toBe(second)
})

test('sessions unused for half an hour end when another session starts', () => {
  const busy = begin('busy')
  beginAndRelease('old')
  vi.setSystemTime(Date.now() + 29 * 60_000)
  beginAndRelease('young')
  expect(ended).toEqual([])
  vi.setSystemTime(Date.now() + 2 * 60_000)
  beginAndRelease('new')
  expect(ended).toEqual(['old'])
  expect(sessions.acquire('busy', {})).toBe(busy)
})

test('a deleted session is not ended, and its successor stays', () => {
  const forgotten = begin('ada')
  sessions.delete('ada', forgotten)
  sessions.release(forgotten)
  const next = begin('ada', 'next')
  sessions.delete('ada', forgotten)
  expect(sessions.acquire('ada', {})).toBe(next)
  expect(ended).toEqual([])
})

test('a session that started with other headers is ended and not used', () => {
  beginAndRelease('ada')
  expect(sessions.acquire('ada', { 'X-Key': 'new' })).toBeUndefined()
  expect(ended).toEqual(['ada'])
  expect(sessions.acquire('ada', {})).toBeUndefined()
})
