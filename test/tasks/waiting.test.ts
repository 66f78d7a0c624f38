import { expect, test, vi } from 'vitest'
import { waitUntilDue } from '../../worker/plugins/tasks/wait-for-task.ts'

test('a request that waits for a sleeping task checks it at growing intervals of up to a minute, and when it is due', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  try {
    const start = Date.now()
    const due = start + 205_000
    const checks: number[] = []
    const waiting = (async () => {
      while (Date.now() < due) {
        await waitUntilDue({ due }, start, new AbortController().signal)
        checks.push((Date.now() - start) / 1000)
      }
    })()
    await vi.runAllTimersAsync()
    await waiting
    expect(checks).toEqual([10, 20, 40, 80, 140, 200, 205])
  } finally {
    vi.useRealTimers()
  }
})
