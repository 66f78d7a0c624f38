import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { TaskSleeps } from '../../durable-objects/task/task-sleeps.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a run that is older than a minute suspends at a short sleep, so that reauthorize is called for the next one', async () => {
  const suspended: number[] = []
  const sleeps = new TaskSleeps(new AbortController().signal, (untilMs) => suspended.push(untilMs))
  const second = async () => {
    const slept = sleeps.sleep(Date.now() + 1000)
    await vi.advanceTimersByTimeAsync(1000)
    await slept
  }
  for (let count = 0; count < 60; count += 1) await second()
  expect(suspended).toEqual([])
  const untilMs = Date.now() + 1000
  await second()
  expect(suspended).toEqual([untilMs])
})
