/** A session that has subscribed to a note, and one that changes the note. */
import assert from 'node:assert/strict'
import type { ClientWorld } from '../client-world.ts'
import { type Message, SessionClient } from './session-client.ts'

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
      // A change that follows at once is sent a little later.
      if (random.chance(0.3)) await change(writer)
      const before = updates
      await change(writer)
      for (let seconds = 0; updates === before; seconds += 1) {
        assert.ok(seconds < 60 + world.lateSeconds, 'a change was acknowledged, and no subscriber was notified')
        await world.sleep(1000)
      }
      await world.sleep(random.between(0, 1000))
    }
    await checkAudience(writer, 1)
    if (random.chance(0.5)) await unsubscribe(reader, writer, () => updates)
    const most = writer.requests * (1 + world.lossCount)
    if (world.jumpedSeconds === 0) assert.ok(updates <= most, `${updates} updates of at most ${most} changes`)
    stop.abort()
    await listening
    if (random.chance(0.5)) await reader.close()
  })
}

/** Changes the note. */
const change = (writer: SessionClient) => succeed(writer, 'write', { id: '3' })

/** Calls a tool. Its handler learns of a publication that may be lost, and fails. */
async function succeed(client: SessionClient, name: string, args: object): Promise<void> {
  for (;;) {
    const { result, error } = await client.ask('tools/call', { name, arguments: args })
    if (result && !result.isError) return
    assert.match(JSON.stringify(result ?? error), /Network connection lost|interrupted/)
  }
}

/** The server counts who is subscribed. */
async function checkAudience(writer: SessionClient, expected: number): Promise<void> {
  const { result } = await writer.ask('tools/call', { name: 'audience', arguments: { id: '3' } })
  const [{ text }] = Object(result).content
  if (result?.isError) assert.match(text, /Network connection lost/)
  else assert.deepEqual(JSON.parse(text), { sessions: expected, streams: 0, isComplete: true }, 'subscribers')
}

/** A tool that is enabled is listed by everyone, and clients with a stream are notified. Messages for a session arrive in order. */
export function listReaders(world: ClientWorld): void {
  const { random } = world
  world.start('list readers', async () => {
    const reader = new SessionClient(world)
    const writer = new SessionClient(world)
    await reader.open()
    await writer.open()
    const level = random.pick(['info', 'warning'])
    await reader.ask('logging/setLevel', { level })
    const stop = new AbortController()
    const opened = Promise.withResolvers<void>()
    let changes = 0
    const told: unknown[] = []
    const onMessage = ({ method, params }: Message) => {
      if (method === 'notifications/tools/list_changed') changes += 1
      if (method === 'notifications/message') told.push(`${params?.level} ${params?.data}`)
    }
    const listening = reader.listen(onMessage, stop.signal, () => opened.resolve())
    world.beside(listening)
    await opened.promise
    let on = false
    const wanted: string[] = []
    for (let steps = random.whole(1, 4); steps > 0; steps -= 1) {
      if (random.chance(0.5)) {
        on = !on
        const before = changes
        await succeed(writer, 'toggle', { on })
        const { result } = await reader.ask('tools/list', {})
        const isListed = JSON.stringify(result).includes('"extra"')
        // While nobody can read that it is enabled, it is not listed.
        const isExpected = isListed === on || (on && world.faultCount > 0)
        assert.ok(isExpected, 'a tool that was enabled or disabled is listed as before')
        for (let seconds = 0; changes === before; seconds += 1) {
          assert.ok(seconds < 60 + world.lateSeconds, 'a list has changed, and no session was notified')
          await world.sleep(1000)
        }
      } else {
        const number = steps
        await succeed(reader, 'tell', { number })
        wanted.push(`warning ${number}`, ...(level === 'info' ? [`info ${number}`] : []))
      }
    }
    for (let seconds = 0; told.at(-1) !== wanted.at(-1); seconds += 1) {
      assert.ok(seconds < 60 + world.lateSeconds, `messages for a session are lost: ${told} of ${wanted}`)
      await world.sleep(1000)
    }
    // A call whose handler failed, or whose answer was lost, is repeated.
    if (world.faultCount === 0) assert.deepEqual(told, wanted, 'messages for a session')
    assert.deepEqual([...new Set(told)], wanted, 'messages for a session are out of order')
    stop.abort()
    await listening
  })
}

/** Nothing arrives any more. */
async function unsubscribe(reader: SessionClient, writer: SessionClient, updates: () => number): Promise<void> {
  const { world } = reader
  const { error } = await reader.ask('resources/unsubscribe', { uri: 'note://3' })
  assert.equal(error, undefined, `resources/unsubscribe: ${JSON.stringify(error)}`)
  await checkAudience(writer, 0)
  // A delivery that was interrupted is repeated later.
  for (let seconds = 0; seconds < 60; seconds += 1) await world.sleep(1000)
  const before = updates()
  await change(writer)
  for (let seconds = 0; seconds < 10; seconds += 1) await world.sleep(1000)
  assert.equal(updates(), before, 'a session was notified of a resource after it had unsubscribed')
}
