/** A session whose user has several keys: what one of them may not read does not reach it, and the end of the session is told to plugins. */
import assert from 'node:assert/strict'
import type { World } from '../world.ts'
import { operate } from './app.ts'
import { createKey } from './callers.ts'
import { SessionClient } from './session-client.ts'
import { StatelessClient } from './stateless-client.ts'

const minuteMs = 60_000

/** A stream has what its token may read, also of what came before, and a session is of its user only. */
export function readers(world: World): void {
  const { random } = world
  world.start('readers', async () => {
    const [all, some] = await keysOf(world)
    const writer = new StatelessClient(world, await createKey(world, 'writer'))
    const reader = new SessionClient(world)
    reader.token = all
    await reader.open()
    const counted = await listen(reader)
    const subscribed = await reader.ask('resources/subscribe', { uri: 'record://1' })
    assert.equal(subscribed.error, undefined, JSON.stringify(subscribed))
    await touch(writer)
    for (let seconds = 0; counted.updates() === 0; seconds += 1) {
      assert.ok(seconds < 60 + world.lateSeconds, 'a change was acknowledged, and its reader was not notified')
      await world.sleep(1000)
    }
    const stranger = new SessionClient(world)
    Object.assign(stranger, { headers: reader.headers, token: await createKey(world, 'stranger') })
    await stranger.sendUntil([404], () => stranger.post({ id: 1, method: 'ping' }))
    await counted.stop()
    // What nobody has received yet must not be sent to the other key.
    if (random.chance(0.5)) await touch(writer)
    if (random.chance(0.7)) {
      reader.token = some
      reader.readsPart = true
      const restricted = await listen(reader)
      await touch(writer)
      for (let seconds = 0; seconds < 30; seconds += 1) await world.sleep(1000)
      assert.equal(restricted.updates(), 0, 'a stream has sent what its token may not read')
      await restricted.stop()
    }
    reader.token = all
    const [isClosed, { faultCount }] = [random.chance(0.5), world]
    if (isClosed) await reader.close()
    // A stream that is lost together with its object counts as open for a day.
    else await reader.expire(54)
    await world.sleep(minuteMs)
    const ends = world.written(`${reader.name} ${isClosed ? 'deleted' : 'expired'}`)
    assert.ok(ends >= 1, 'a session has ended, and plugins were not told')
    assert.ok(
      ends <= 1 + world.faultCount - faultCount + (faultCount > 0 ? 1 : 0),
      `the end of a session was told ${ends} times`,
    )
  })
}

/** Returns keys of one user: one for all, and one that may not read records. */
async function keysOf(world: World): Promise<[string, string]> {
  for (let attempt = 1; ; attempt += 1) {
    const create = async (scopes: string[]) => {
      const params = { owner: { subject: `reader ${attempt}` }, scopes, expiresIn: 100 * 60 * minuteMs }
      return Object(await operate(world, 'createKey', params)).key
    }
    const [all, some] = [await create(['read', 'secret']), await create(['read'])]
    if (all && some) return [all, some]
  }
}

/** Changes the record. */
async function touch(writer: StatelessClient): Promise<void> {
  for (;;) {
    const { message } = await writer.call('touch', { id: '1' })
    if (message.result && !Object(message.result).isError) return
    assert.match(JSON.stringify(message), /Network connection lost|interrupted|verified|took longer/)
  }
}

/** Opens the stream of a session, and counts changes of the record. */
async function listen(reader: SessionClient) {
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
  reader.world.beside(listening)
  await opened.promise
  return {
    updates: () => updates,
    stop: () => {
      stop.abort()
      return listening
    },
  }
}
