/** Tasks that ask, are answered wrongly, listed and cancelled, in both forms that the protocol has. */
import assert from 'node:assert/strict'
import type { Random } from '../platform/random.ts'
import type { World } from '../world.ts'
import { eventsOf } from './event-stream.ts'
import { type Message, SessionClient } from './session-client.ts'
import { type Fields, StatelessClient } from './stateless-client.ts'
import { unlessLost } from './unless-lost.ts'

const pausesMs = [0, 1000, 8000]

/** Returns how a user answers who is sometimes wrong. */
const hasty = (random: Random) => () => ({ action: 'accept', content: { size: random.chance(0.2) ? 4 : 3 } })

/** Tasks of a session: each is listed, ends with the answer that is right, or is cancelled for good. */
export function taskManagers(world: World): void {
  const { random } = world
  world.start('task managers', async () => {
    /** Tasks that are cancelled while they wait for an answer. */
    const silent = new Set<unknown>()
    const answer = hasty(random)
    const client = new SessionClient(world, {
      answer: ({ params }) => {
        const { taskId } = Object(Object(params?._meta)['io.modelcontextprotocol/related-task'])
        assert.ok(taskId !== undefined, 'a question that belongs to no task')
        return silent.has(taskId) ? undefined : answer()
      },
    })
    await client.open()
    const tasks: { key: string; taskId: unknown }[] = []
    for (let count = random.whole(1, 3); count > 0; count -= 1) {
      const key = `draft ${count}`
      const args = { key, pauseMs: random.pick(pausesMs) }
      const { result, error } = await client.ask('tools/call', { name: 'draft', arguments: args, task: {} })
      const { taskId } = Object(result?.task)
      assert.equal(typeof taskId, 'string', JSON.stringify(result ?? error))
      tasks.push({ key, taskId })
    }
    const listed = async (by: SessionClient) => {
      const { result } = await by.ask('tasks/list', {})
      return Object(result)
        .tasks.map((one: Fields) => one.taskId)
        .filter((id: unknown) => tasks.some((task) => task.taskId === id))
    }
    assert.deepEqual(
      await listed(client),
      tasks.map(({ taskId }) => taskId),
      'a task of the session is not listed',
    )
    if (random.chance(0.3)) {
      const other = new SessionClient(world)
      await other.open()
      assert.deepEqual(await listed(other), [], 'a session lists the task of another one')
    }
    await Promise.all(
      tasks.map(async ({ key, taskId }) => {
        const isCancelled = random.chance(0.4)
        if (isCancelled && random.chance(0.5)) silent.add(taskId)
        const ends = [resultOf(client, key, taskId), ...(isCancelled ? [cancelled(client, key, taskId)] : [])]
        const [end] = await Promise.all(ends)
        if (!isCancelled) assert.equal(end, 'completed', `${key} was cancelled by nobody`)
        const { result } = await client.ask('tasks/get', { taskId })
        assert.equal(result?.status, end, `${key} has changed after its end`)
      }),
    )
  })
}

/** Waits for the result of a task, and answers for it. Returns its status. */
async function resultOf(client: SessionClient, key: string, taskId: unknown): Promise<unknown> {
  const request = { method: 'tasks/result', params: { taskId } }
  for (let attempt = 0; ; attempt += 1) {
    const { outcome, answer } = await client.call('draft', { key, steps: 1, pauseMs: 0 }, { request })
    if (answer?.result) {
      checkDraft(answer, key)
      return 'completed'
    }
    if (answer?.error?.message.includes('cancelled')) return 'cancelled'
    // What a lost connection has answered may be answered again.
    assert.ok(outcome === 'unknown' || client.world.faultCount > 0, `${key}: ${JSON.stringify(answer)}`)
    assert.ok(attempt < 20, `${key} has no result: ${JSON.stringify(answer)}`)
    await client.world.sleep(1000)
  }
}

function checkDraft({ result }: Message, key: string): void {
  const [content] = Object(result).content
  assert.deepEqual(JSON.parse(content.text), { key, size: 3 }, `${key}: a wrong answer was accepted, or one is lost`)
}

/** Cancels a task. A task that has ended stays as it is. */
async function cancelled(client: SessionClient, key: string, taskId: unknown): Promise<void> {
  const { world } = client
  await world.sleep(world.random.between(0, 10_000))
  const { result, error } = await client.ask('tasks/cancel', { taskId })
  assert.ok(
    result?.status === 'cancelled' || error?.message.includes('ended'),
    `${key}: ${JSON.stringify(result ?? error)}`,
  )
  const status = async () => (await client.ask('tasks/get', { taskId })).result?.status
  const [before, written] = [await status(), world.written(`draft of ${key}`)]
  // A cancellation whose answer was lost is repeated.
  const isExpected = error ? before === 'completed' || world.faultCount > 0 : before === 'cancelled'
  assert.ok(isExpected, `${key} is ${before} after tasks/cancel: ${JSON.stringify(error)}`)
  for (let seconds = 0; seconds < 30; seconds += 1) await world.sleep(1000)
  assert.equal(await status(), before, `${key} has changed after its end`)
  // A step that runs is not stopped.
  assert.ok(world.written(`draft of ${key}`) <= written + 1, `${key} went on after it was cancelled`)
}

/** A call without a session: answered at once, or a task that its client is notified about. */
export function drafts(world: World): void {
  const { random } = world
  world.start('drafts', async () => {
    const client = new StatelessClient(world)
    const key = 'quick draft'
    const pauseMs = random.pick(pausesMs)
    const { message } = await client.call('draft', { key, pauseMs }, hasty(random))
    // A call is stored for a minute more than it may take.
    if (world.jumpedSeconds > 60 && Object(message.error?.data).reason === 'lapsed') return
    const { taskId } = Object(message.result)
    if (taskId === undefined) {
      checkDraft(message, key)
      assert.ok(pauseMs < 3000 || world.faultCount > 0, 'a call that takes long is no task')
      return
    }
    assert.ok(pauseMs > 3000 || world.faultCount > 0, 'a call that is quick is a task')
    const statuses = new Set<unknown>()
    const stop = new AbortController()
    const listening = listen(client, taskId, statuses, stop.signal)
    world.beside(listening)
    const isCancelled = random.chance(0.3)
    if (isCancelled) await client.ask('tasks/cancel', { taskId })
    let status: unknown = 'working'
    for (let polls = 0; status === 'working'; polls += 1) {
      assert.ok(polls < 60, `the task is ${status} after ${polls} polls`)
      const { result, error } = await client.ask('tasks/get', { taskId })
      status = result?.status
      if (status === 'completed') checkDraft({ result: Object(result?.result) }, key)
      else if (isCancelled) assert.equal(status, 'cancelled', `a task that was cancelled is ${status}`)
      else assert.equal(status, 'working', JSON.stringify(result ?? error))
      await world.sleep(2000)
    }
    for (let seconds = 0; !statuses.has(status); seconds += 1) {
      assert.ok(seconds < 60 + world.lateSeconds, `a client that listens was not notified that its task is ${status}`)
      await world.sleep(1000)
    }
    stop.abort()
    await listening
  })
}

/** Collects statuses of a task: a stream that begins sends the current one. */
async function listen(
  client: StatelessClient,
  taskId: string,
  statuses: Set<unknown>,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    await unlessLost(async () => {
      const { status, body } = await client.post('subscriptions/listen', { notifications: { taskIds: [taskId] } }, stop)
      if (status !== 200) return void (await body.text())
      for await (const { data } of eventsOf(body)) {
        const { params }: Message = JSON.parse(data ?? '{}')
        if (params?.status !== undefined) {
          assert.equal(params.taskId, taskId, 'the status of another task')
          statuses.add(params.status)
        }
      }
    })
    if (!stop.aborted) await client.world.sleep(1000)
  }
}
