import { expect, test } from 'vitest'
import { Slots } from '../../worker/plugins/rate-limit/concurrency.ts'

test('a resumed call that is lost while it waits for a slot blocks new calls for at most ten seconds', async () => {
  let now = 0
  const slots = new Slots(() => now)
  const ada = [{ key: 'ada', most: 1 }]
  const first = slots.take(ada, 1_000)
  expect(first).toHaveProperty('release')
  // Its object is lost: nothing of it runs on, neither its next look nor its clean-up.
  const end = new AbortController()
  const lost = slots.takeWhenFree(ada, 1_000, end.signal)
  if ('release' in first) first.release()
  expect(slots.take(ada, 1_000)).toEqual({ full: ada[0] })
  now = 10_000
  expect(slots.take(ada, 1_000)).toHaveProperty('release')
  // Here it would look for as long as the process of the tests runs.
  end.abort()
  await expect(lost).rejects.toThrow()
})
