import { expect, test } from 'vitest'
import { createServer } from '../../worker/declarations/server.ts'
import type { Runtime } from '../../worker/plugin.ts'
import { limiter } from '../../worker/plugins/rate-limit/limiter.ts'

/** The name of the object that counts a call of an endpoint, and the key that the platform's limiter gets. */
async function countersOf(identity: string) {
  const seen: string[] = []
  const bindings = {
    RATE_60_PER_60S: { limit: async ({ key }: { key: string }) => seen.push(key) && { success: true } },
  }
  const object = (_: string, name: string) => {
    seen.push(name)
    return { run: async () => ({ value: [undefined] }), forget: async () => false }
  }
  const { declarations } = createServer({ name: 'counted', version: '1.0.0' })
  const runtime = { identity, declarations, object } as unknown as Runtime
  const { provide } = limiter({ rate: '60/m', quota: '3/h' }, () => bindings)
  const { countRound, callerOf } = provide(runtime).limiter ?? {}
  const attempt = {
    ...{
      params: { name: 'greet' },
      entries: [],
      principal: undefined,
      caller: String(callerOf?.({ request: new Request('https://a.example'), context: {} })),
      post: {},
      isResumed: false,
      endsWithSignal: false,
    },
    sees: async () => true,
    signal: () => new AbortController().signal,
    parked: () => [],
  }
  await countRound?.(attempt)
  return seen
}

test('two endpoints have separate counters', async () => {
  const [one, two] = await Promise.all([countersOf('one'), countersOf('two')])
  expect(one).toHaveLength(2)
  expect(one.filter((counter) => two.includes(counter))).toEqual([])
  expect(await countersOf('one')).toEqual(one)
})
