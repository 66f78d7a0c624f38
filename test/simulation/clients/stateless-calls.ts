/** Calls, listeners and tasks of clients without sessions. */
import assert from 'node:assert/strict'
import type { ClientWorld } from '../client-world.ts'
import { eventsOf } from './event-stream.ts'
import type { Message } from './session-client.ts'
import { accepted, StatelessClient } from './stateless-client.ts'
import { unlessLost } from './unless-lost.ts'

/** A call asks its client, in rounds that run anywhere. */
export function statelessCalls(world: ClientWorld): void {
  const { random } = world
  world.start('stateless calls', async () => {
    const client = new StatelessClient(world)
    const call = async (index: number) => {
      const key = `stateless ${index}`
      const { message, questions } = await client.call('ask', { key, steps: 1, pauseMs: random.between(0, 200) })
      const result = JSON.parse(textOf(message))
      assert.equal(result.key, key, `${key}: the result of another call`)
      assert.equal(result.word, 'blue', `${key}: the answer of the client was lost`)
      // A round whose response was lost is sent again.
      assert.ok(questions === 1, `${key} was asked ${questions} times`)
    }
    await Promise.all(Array.from({ length: random.whole(1, 3) }, (_, index) => call(index)))
  })
}

/** A change reaches each stream that is open, and a stream that ends says so. */
export function listeners(world: ClientWorld): void {
  const { random } = world
  world.start('listeners', async () => {
    const reader = new StatelessClient(world)
    const writer = new StatelessClient(world)
    const stop = new AbortController()
    const opened = Promise.withResolvers<void>()
    // A client that listens again reads the note.
    let seen = 0
    let updates = 0
    let ended = Promise.withResolvers<void>()
    const listen = async () => {
      while (!stop.signal.aborted) {
        await unlessLost(async () => {
          const params = { notifications: { resourceSubscriptions: ['note://1'] } }
          const { status, headers, body } = await reader.post('subscriptions/listen', params, stop.signal)
          const isStream = headers.get('content-type')?.startsWith('text/event-stream')
          if (status !== 200 || !isStream) {
            const text = await body.text()
            assert.ok(status >= 500 || text.includes('-32603'), `subscriptions/listen: ${status} ${text}`)
            return
          }
          for await (const { data } of eventsOf(body)) {
            const { method, result }: Message = JSON.parse(data ?? '{}')
            if (result) {
              ended.resolve()
              ended = Promise.withResolvers<void>()
            }
            if (method === 'notifications/subscriptions/acknowledged') opened.resolve()
            if (method === 'notifications/resources/updated') updates += 1
            seen += 1
          }
        })
        if (!stop.signal.aborted) await world.sleep(1000)
      }
    }
    const listening = listen()
    world.beside(listening)
    await opened.promise
    for (let writes = random.whole(1, 4); writes > 0; writes -= 1) {
      // A stream ends after an hour, and the next one has what came in between.
      if (random.chance(0.2)) await ended.promise
      const [before, updatesBefore] = [seen, updates]
      const { message } = await writer.call('write', { id: '2' })
      if (Object(message.result).isError) continue
      assert.ok(message.result, JSON.stringify(message))
      const changed = await writer.call('write', { id: '1' })
      if (Object(changed.message.result).isError) continue
      const isNotified = () => (world.faultCount === 0 ? updates > updatesBefore : seen > before)
      for (let seconds = 0; !isNotified(); seconds += 1) {
        assert.ok(seconds < 60 + world.lateSeconds, 'a change was acknowledged, and no listener was notified')
        await world.sleep(1000)
      }
      await world.sleep(random.between(0, 1000))
    }
    stop.abort()
    await listening
  })
}

/** A task asks its client, sleeps, and completes. */
export function statelessTasks(world: ClientWorld): void {
  const { random } = world
  const hourMs = 3_600_000
  world.start('stateless tasks', async () => {
    const client = new StatelessClient(world)
    const hours = random.pick([0, 0.001, 2])
    const { message } = await client.call('survey', { key: 'survey', hours })
    const { taskId } = Object(message.result)
    assert.equal(typeof taskId, 'string', JSON.stringify(message))
    for (let polls = 0, status: unknown; status !== 'completed'; polls += 1) {
      assert.ok(polls < 100, `the task is ${status} after ${polls} polls`)
      await world.sleep(hours > 0.5 ? hourMs / 4 : 2000)
      const { result, error } = await client.ask('tasks/get', { taskId })
      status = result?.status
      if (status === 'input_required') {
        const keys = Object.keys(Object(result?.inputRequests))
        const inputResponses = Object.fromEntries(keys.map((key) => [key, accepted]))
        const updated = await client.ask('tasks/update', { taskId, inputResponses })
        // An update whose response was lost is repeated: then nothing is asked any more.
        assert.ok(updated.result ?? updated.error?.code === -32602, JSON.stringify(updated))
      } else if (status === 'completed') {
        const words = JSON.parse(textOf({ result: Object(result?.result) }))
        assert.deepEqual(words, ['blue', 'blue'], 'an answer of the client was lost')
      } else assert.equal(status, 'working', JSON.stringify(result ?? error))
    }
    world.checks.push(() => {
      const times = world.written('effect of survey')
      assert.ok(
        times >= 1 && times <= 1 + world.faultCount,
        `the effect ran ${times} times with ${world.faultCount} faults`,
      )
    })
  })
}

const textOf = ({ result, error }: Message): string => {
  const [first] = Object(result).content ?? []
  assert.equal(typeof first?.text, 'string', JSON.stringify(result ?? error))
  return first.text
}
