/** A session whose client does not answer. */
import assert from 'node:assert/strict'
import type { ClientWorld } from '../client-world.ts'
import { SessionClient } from './session-client.ts'

/** A call ends when its question has timed out, also while its client is away. */
export function silent(world: ClientWorld): void {
  const { random } = world
  world.start('silent', async () => {
    const client = new SessionClient(world, { answer: () => undefined })
    await client.open()
    const startedAt = world.now()
    const isAway = random.chance(0.5)
    const { outcome, answer } = await client.call(
      'hint',
      { key: 'hint', steps: 1, pauseMs: 0 },
      isAway ? { awayUntil: () => true } : {},
    )
    if (outcome === 'unknown') return
    const { reason } = Object(answer?.error?.data)
    assert.ok(reason === 'timeout' || reason === 'interrupted', `hint: ${JSON.stringify(answer)}`)
    const seconds = (world.now() - startedAt) / 1000
    const most = (isAway ? 180 : 120) + world.lateSeconds
    assert.ok(seconds < most, `a question that was not answered timed out after ${seconds} seconds`)
  })
}
