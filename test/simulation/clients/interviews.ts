/** A client that has all features of 2025-11-25: roots, models, pages and tasks of its own. */
import assert from 'node:assert/strict'
import type { Random } from '../platform/random.ts'
import type { World } from '../world.ts'
import { type Call, type Message, SessionClient } from './session-client.ts'

const capabilities = {
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
  sampling: {},
  tasks: { requests: { sampling: { createMessage: {} } } },
}

/** Answers of each kind reach their call, in the order of the questions. Roots are asked for once, until they change. */
export function interviews(world: World): void {
  const { random } = world
  world.start('interviews', async () => {
    const user = new User(random)
    const client = new SessionClient(world, { capabilities, answer: (request) => user.answer(request) })
    await client.open()
    let [areKnown, logs] = [false, true]
    for (let calls = random.whole(1, 3); calls > 0; calls -= 1) {
      if (random.chance(0.5)) {
        logs = random.chance(0.5)
        await client.ask('logging/setLevel', { level: logs ? 'debug' : 'error' })
      }
      if (random.chance(0.5)) {
        user.roots += 1
        await client.tell({ method: 'notifications/roots/list_changed' })
        areKnown = false
      }
      const key = `interview ${calls}`
      const call = await client.call('interview', { key, steps: 1, pauseMs: random.pick([0, 300]) })
      if (call.outcome !== 'answered') return
      if (!call.answer?.result) {
        assert.equal(Object(call.answer?.error?.data).reason, 'interrupted', JSON.stringify(call.answer))
        assert.ok(world.lossCount > 0, 'a call was interrupted without a loss')
        return
      }
      checkInterview(call, user, areKnown, logs)
      areKnown = true
    }
    await client.expire()
  })
}

function checkInterview({ args: { key }, answer, received }: Call, user: User, areKnown: boolean, logs: boolean): void {
  const [content] = Object(answer?.result).content
  const expected = { roots: [user.root], text: `summary of ${key}`, page: 'accept' }
  assert.deepEqual(JSON.parse(content.text), expected, `${key}: answers are lost or of another call`)
  const methods = received.map(({ method }) => method)
  assert.deepEqual(
    methods,
    [
      ...(logs ? ['notifications/message'] : []),
      ...(areKnown ? [] : ['roots/list']),
      'sampling/createMessage',
      'elicitation/create',
      'notifications/elicitation/complete',
    ],
    `${key}: messages`,
  )
  const ids = received.flatMap(({ params }) => params?.elicitationId ?? [])
  assert.ok(ids[0] !== undefined && ids[0] === ids[1], `${key}: the page that is complete is not that of the question`)
}

/** Answers requests of the server. `isBusy`: the task for an answer does not end. */
class User {
  readonly #random: Random
  readonly #isBusy: boolean
  /** By their ids: the prompts of tasks, and how often each was asked about. */
  readonly #tasks = new Map<unknown, { prompt: string; polls: number }>()
  roots = 1

  constructor(random: Random, isBusy = false) {
    this.#random = random
    this.#isBusy = isBusy
  }

  get root(): string {
    return `file:///${this.roots}`
  }

  answer({ method, params = {} }: Message): object | undefined {
    if (method === 'roots/list') return { roots: [{ uri: this.root }] }
    if (method === 'elicitation/create') return { action: 'accept' }
    if (method === 'sampling/createMessage') {
      const [message] = Object(params).messages
      const prompt = String(message.content.text)
      if (!this.#isBusy && this.#random.chance(0.3)) return summaryOf(prompt)
      const taskId = `task ${this.#tasks.size}`
      this.#tasks.set(taskId, { prompt, polls: 0 })
      return { task: taskOf(taskId, 'working') }
    }
    const { taskId } = params
    const task = this.#tasks.get(taskId)
    assert.ok(task, `${method} about a task of another client: ${taskId}`)
    if (method === 'tasks/result') return summaryOf(task.prompt)
    if (method === 'tasks/cancel') return taskOf(taskId, 'cancelled')
    task.polls += 1
    return taskOf(taskId, task.polls > 2 && !this.#isBusy ? 'completed' : 'working')
  }
}

const summaryOf = (prompt: string) => ({
  role: 'assistant',
  model: 'simulated',
  content: { type: 'text', text: `summary of ${prompt}` },
})

const taskOf = (taskId: unknown, status: string) => ({
  taskId,
  status,
  createdAt: '2026-01-01T00:00:00Z',
  lastUpdatedAt: '2026-01-01T00:00:00Z',
  ttl: null,
  pollInterval: 2000,
})

/** After a call was cancelled, nothing of it arrives, its stream ends, its questions are withdrawn, and its id is free. */
export function cancellers(world: World): void {
  const { random } = world
  world.start('cancellers', async () => {
    const user = new User(random, true)
    const answer = (request: Message) => (request.method === 'elicitation/create' ? undefined : user.answer(request))
    const client = new SessionClient(world, { capabilities, answer })
    await client.open()
    const cancel = async (call: Call) => {
      await call.known.promise
      if (call.lastEventId === undefined) return
      await world.sleep(random.between(0, random.pick([100, 20_000])))
      const { text } = await client.sendUntil([200, 400], () => client.post({ id: call.id, method: 'ping' }))
      // A call that was lost three times has ended, or one whose client has not read the answer.
      const hasEnded = call.answer !== undefined || world.lossCount > 2 || world.heldSeconds > 0
      assert.ok(hasEnded || text.includes('in use'), `the id of a call that runs was accepted: ${text}`)
      await client.cancel(call)
    }
    const run = async (index: number) => {
      const tool = random.pick(['hold', 'ask', 'interview'])
      const key = `cancelled ${index}`
      let cancelling = Promise.resolve()
      const onSent = (call: Call) => {
        cancelling = cancel(call)
        world.beside(cancelling)
      }
      const call = await client.call(tool, { key, steps: 1, pauseMs: 0 }, { onSent })
      await cancelling
      if (call.outcome === 'unknown') return
      checkCancelled(call, world)
      if (call.outcome !== 'cancelled') return
      const { lossCount } = world
      const again = await client.call('count', { key: `again ${index}`, steps: 1, pauseMs: 0 }, { id: call.id })
      // A call that runs again too often is given up.
      const mayEnd = again.outcome === 'unknown' || world.lossCount > lossCount + 2
      assert.ok(mayEnd || again.answer?.result, JSON.stringify(again.answer))
      // What the user answers after that changes nothing.
      for (const { id, method } of call.received) {
        if (method === 'elicitation/create')
          await client.tell({ id, result: { action: 'accept', content: { word: 'late' } } })
      }
      world.checks.push(() => assert.equal(world.written(`end of ${key}`), 0, `${key} went on after it was cancelled`))
    }
    await Promise.all(Array.from({ length: random.whole(1, 2) }, (_, index) => run(index)))
    await client.close()
  })
}

function checkCancelled({ tool, args: { key }, answer, received, cancelledAt = Infinity }: Call, world: World): void {
  if (answer?.error) {
    assert.equal(Object(answer.error.data).reason, 'interrupted', `${key}: ${JSON.stringify(answer)}`)
    assert.ok(world.lossCount > 0, `${key} was interrupted without a loss`)
    return
  }
  const times = received.flatMap(({ method, params }) =>
    method === 'notifications/message' ? Number(params?.data) : [],
  )
  if (answer) times.push(Number(Object(answer.result).content[0].text))
  if (tool === 'hold')
    for (const time of times) assert.ok(time <= cancelledAt, `${key}: a message after it was cancelled`)
  else assert.ok(!answer, `${key} was answered without the answer of its client`)
  const [last] = received.filter(({ id }) => id !== undefined).reverse()
  // The question that was open, or the task that its client has begun for it.
  const isOpen = tool === 'ask' ? last !== undefined : last?.method === 'sampling/createMessage'
  const end = received.at(-1)
  if (answer || !isOpen) return
  const { requestId, taskId } = Object(end?.params)
  assert.ok(requestId === last?.id || taskId !== undefined, `${key}: the question was not withdrawn: ${end?.method}`)
}
