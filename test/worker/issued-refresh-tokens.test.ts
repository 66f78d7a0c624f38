import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { IssuedRefreshTokens } from '../../durable-objects/sign-in/issued-refresh-tokens.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

function emptyTokens(): IssuedRefreshTokens {
  const stored = new Map<string, unknown>()
  const kv = { get: (key: string) => stored.get(key), put: (key: string, value: unknown) => stored.set(key, value) }
  // What it reads of a storage.
  return new IssuedRefreshTokens({ kv } as never)
}

test.each([
  [3_599_000, [false, true]],
  [3_600_000, [true, false]],
])(
  '1,001 tokens in %i ms: whether the last is added, and the first still known, is %j',
  async (elapsedMs, expected) => {
    const tokens = emptyTokens()
    const add = async (response: string) => (await tokens.adding(response))()
    for (let token = 0; token < 1000; token += 1) {
      expect(await add(JSON.stringify({ refresh_token: `t${token}` }))).toBe(true)
    }
    vi.setSystemTime(Date.now() + elapsedMs)
    expect([await add('{"refresh_token":"last"}'), await tokens.has('t0')]).toEqual(expected)
  },
)
