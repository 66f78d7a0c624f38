/** A session that starts a task, and asks for its result. */
import assert from 'node:assert/strict'
import type { ClientWorld } from '../client-world.ts'
import { type Message, SessionClient } from './session-client.ts'

const hourMs = 3_600_000

/** A task that sleeps ends with one result. */
export function taskOwners(world: ClientWorld): void {
  const { random } = world
  world.start('tasks', async () => {
    const client = new SessionClient(world)
    await client.open()
    const hours = random.pick([0, 0.001, 1, 20])
    const stop = new AbortController()
    const isListening = hours < 20 && random.chance(0.5)
    const statuses: unknown[] = []
    if (isListening) await listen(client, statuses, stop.signal)
    const created = await client.ask('tools/call', {
      name: 'report',
      arguments: { key: 'task', hours },
      task: { ttl: 72 * hourMs },
    })
    const { taskId } = Object(created.result?.task)
    assert.equal(typeof taskId, 'string', JSON.stringify(created))
    for (let polls = 0, status: unknown; status !== 'completed'; polls += 1) {
      assert.ok(polls < 60, `the task is ${status} after ${polls} polls`)
      await world.sleep(hours > 0.5 ? hourMs : 2000)
      const { result, error } = await client.ask('tasks/get', { taskId })
      status = result?.status
      assert.ok(status === 'working' || status === 'completed', `the task is ${JSON.stringify(result ?? error)}`)
    }
    const first = await client.ask('tasks/result', { taskId })
    const second = await client.ask('tasks/result', { taskId })
    assert.ok(first.result && !first.result.isError, JSON.stringify(first))
    assert.deepEqual(first.result, second.result, 'the result of the task has changed')
    for (const effect of ['facts of task', 'more of task']) {
      const times = world.written(effect)
      const isExpected = times >= 1 && times <= 1 + world.faultCount
      assert.ok(isExpected, `${effect} ran ${times} times with ${world.faultCount} faults`)
    }
    for (let seconds = 0; isListening && !statuses.includes('completed'); seconds += 1) {
      assert.ok(seconds < 120 + world.lateSeconds, 'the session was not notified of the end of its task')
      await world.sleep(1000)
    }
    stop.abort()
  })
}

/** Collects the status of the task from notifications. */
async function listen(client: SessionClient, statuses: unknown[], stop: AbortSignal): Promise<void> {
  const opened = Promise.withResolvers<void>()
  const onMessage = ({ method, params }: Message) => {
    if (method === 'notifications/tasks/status') statuses.push(params?.status)
  }
  client.world.beside(client.listen(onMessage, stop, () => opened.resolve()))
  await opened.promise
}
