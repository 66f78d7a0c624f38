/** A session that has subscribed to a note, and one that changes the note. */
import assert from 'node:assert/strict'
import type { ClientWorld } from '../client-world.ts'
import { SessionClient } from './session-client.ts'

/** Each change that was acknowledged reaches the subscriber. */
export function subscribers(world: ClientWorld): void {
  const { random } = world
  world.start('subscribers', async () => {
    const reader = new SessionClient(world)
    const writer = new SessionClient(world)
    await reader.open()
    await writer.open()
    const stop = new AbortController()
    const opened = Promise.withResolvers<void>()
    let updates = 0
    const listening = reader.listen(
      ({ method }) => {
        if (method === 'notifications/resources/updated') updates += 1
      },
      stop.signal,
      () => opened.resolve(),
    )
    world.beside(listening)
    await opened.promise
    const { error } = await reader.ask('resources/subscribe', { uri: 'note://3' })
    assert.equal(error, undefined, `resources/subscribe: ${JSON.stringify(error)}`)
    for (let writes = random.whole(1, 4); writes > 0; writes -= 1) {
      const before = updates
      await change(writer)
      for (let seconds = 0; updates === before; seconds += 1) {
        assert.ok(seconds < 60 + world.jumpedSeconds, 'a change was acknowledged, and no subscriber was notified')
        await world.sleep(1000)
      }
      await world.sleep(random.between(0, 1000))
    }
    if (random.chance(0.5)) await unsubscribe(reader, writer, () => updates)
    const most = writer.requests * (1 + world.lossCount)
    if (world.jumpedSeconds === 0) assert.ok(updates <= most, `${updates} updates of at most ${most} changes`)
    stop.abort()
    await listening
    if (random.chance(0.5)) await reader.close()
  })
}

/** Changes the note. The handler learns of a publication that may be lost, and fails. */
async function change(writer: SessionClient): Promise<void> {
  for (;;) {
    const { result, error } = await writer.ask('tools/call', { name: 'write', arguments: { id: '3' } })
    if (result && !result.isError) return
    assert.match(JSON.stringify(result ?? error), /Network connection lost|interrupted/)
  }
}

/** Nothing arrives any more. */
async function unsubscribe(reader: SessionClient, writer: SessionClient, updates: () => number): Promise<void> {
  const { world } = reader
  const { error } = await reader.ask('resources/unsubscribe', { uri: 'note://3' })
  assert.equal(error, undefined, `resources/unsubscribe: ${JSON.stringify(error)}`)
  // A delivery that was interrupted is repeated later.
  for (let seconds = 0; seconds < 60; seconds += 1) await world.sleep(1000)
  const before = updates()
  await change(writer)
  for (let seconds = 0; seconds < 10; seconds += 1) await world.sleep(1000)
  assert.equal(updates(), before, 'a session was notified of a resource after it had unsubscribed')
}
