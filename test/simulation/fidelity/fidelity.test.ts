/** Clients receive the same from the simulated platform as from workerd: each status, header and event. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import type { ClientWorld } from '../client-world.ts'
import { HttpSseSession } from '../clients/http-sse.ts'
import { SessionClient } from '../clients/session-client.ts'
import { StatelessClient } from '../clients/stateless-client.ts'
import { bundleWorker, type Load } from '../platform/bundle.ts'
import { World } from '../world.ts'
import { RealWorld } from './real-world.ts'
import { recorded } from './recorded.ts'

let load: Load
let real: RealWorld
beforeAll(async () => {
  load = (await bundleWorker('test/simulation/server/index.ts')).load
  real = await RealWorld.start()
})
afterAll(() => real?.[Symbol.asyncDispose]())

const scenarios: Record<string, (world: ClientWorld) => Promise<void>> = {
  async 'calls of a session, with a question'(world) {
    const client = new SessionClient(world)
    await client.open()
    await client.call('count', { key: 'a', steps: 3, pauseMs: 120 })
    await client.call('pay', { key: 'b', steps: 2, pauseMs: 0 })
    await client.call('ask', { key: 'c', steps: 1, pauseMs: 50 })
    for (const _ of [1, 2]) await client.ask('tools/call', { name: 'visit', arguments: {} })
    await client.close()
  },
  async 'a call whose client reads late'(world) {
    const client = new SessionClient(world)
    await client.open()
    const args = { key: 'large', steps: 12, pauseMs: 5, bytes: 200_000, resultBytes: 300_000 }
    const params = { name: 'count', arguments: args, _meta: { progressToken: 'large' } }
    const { body } = await client.post({ id: 'large', method: 'tools/call', params })
    while (world.written('end of large') === 0) await world.sleep(50)
    await body.text()
  },
  async 'a subscription of a session'(world) {
    const [reader, writer] = [new SessionClient(world), new SessionClient(world)]
    await reader.open()
    await writer.open()
    const stop = new AbortController()
    const opened = Promise.withResolvers<void>()
    let updates = 0
    const onMessage = () => {
      updates += 1
    }
    const listening = reader.listen(onMessage, stop.signal, () => opened.resolve())
    await opened.promise
    await reader.ask('resources/subscribe', { uri: 'note://1' })
    for (let writes = 1; writes <= 2; writes += 1) {
      await writer.ask('tools/call', { name: 'write', arguments: { id: '1' } })
      while (updates < writes) await world.sleep(50)
      await world.sleep(200)
    }
    await reader.ask('resources/unsubscribe', { uri: 'note://1' })
    stop.abort()
    await listening
  },
  async 'a task of a session'(world) {
    const client = new SessionClient(world)
    await client.open()
    const params = { name: 'report', arguments: { key: 'task', hours: 0 }, task: { ttl: 60_000 } }
    const { result } = await client.ask('tools/call', params)
    const { taskId } = Object(result?.task)
    await client.ask('tasks/result', { taskId })
    await client.ask('tasks/get', { taskId })
  },
  async 'calls without a session, in rounds'(world) {
    const client = new StatelessClient(world)
    await client.call('ask', { key: 'd', steps: 1, pauseMs: 20 })
    await client.call('spend', { key: 'e' })
    const { message } = await client.call('new_basket', {})
    const [{ text: basket }] = Object(message.result).content
    await client.call('add', { basket })
    await client.call('show', { basket })
  },
  async 'HTTP+SSE'(world) {
    const session = new HttpSseSession(world)
    await session.open()
    await session.call('count', { key: 'f', steps: 2, pauseMs: 50 })
    session.close()
    await world.sleep(100)
  },
}

describe.each(Object.entries(scenarios))('%s', (_, scenario) => {
  test('is the same in workerd', async () => {
    const world = new World([load], { seed: 1 })
    const simulated = recorded(world)
    world.start('client', () => scenario(simulated.world))
    await world.platform.loop.run(world.platform.loop.start + 3_600_000)
    if (world.platform.loop.failure) throw world.platform.loop.failure
    const inWorkerd = recorded(real)
    await scenario(inWorkerd.world)
    expect(simulated.lines()).toEqual(inWorkerd.lines())
  })
})

test('streams whose readers are slow are the same in workerd', async () => {
  const folder = 'test/simulation/streams'
  const { load } = await bundleWorker(`${folder}/index.ts`)
  await using server = await startServer(folder)
  const inWorkerd = await (await fetch(server.url)).json()
  for (let seed = 1; seed <= 20; seed += 1) {
    const world = new World([load], { seed })
    let simulated = ''
    world.start('client', async () => {
      const { body } = await world.request('http://localhost/', { method: 'GET', headers: {} })
      simulated = await body.text()
    })
    await world.platform.loop.run(world.platform.loop.start + 3_600_000)
    if (world.platform.loop.failure) throw world.platform.loop.failure
    expect(JSON.parse(simulated)).toEqual(inWorkerd)
  }
  expect(inWorkerd).toEqual([
    { act: 'read', isPart: true, write: 'succeeds', closed: 'open', end: 'goes on' },
    { act: 'abort', isPart: true, write: 'fails', closed: 'fails', end: 'breaks' },
    { act: 'cancel', isPart: true, write: 'fails', closed: 'fails', end: 'was left' },
    { isAhead: false, ends: ['goes on', 'breaks', 'breaks'], isSame: true },
  ])
})
