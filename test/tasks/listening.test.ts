/** `notifications/tasks`: streams of changes that tell of tasks. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { named } from './behind.ts'
import { type Json, knowing, TaskClient } from './client.ts'

let server: TestServer
let client: TaskClient
beforeAll(async () => {
  server = await startServer('test/tasks/server')
  client = new TaskClient(server.url)
})
afterAll(() => server[Symbol.asyncDispose]())

const key = () => crypto.randomUUID()
const listen = (notifications: Json, sent = {}) => client.listen({ notifications }, sent)
const subscription = { 'io.modelcontextprotocol/subscriptionId': expect.any(Number) }

describe('a subscriptions/listen stream', () => {
  test('sends the current status of a task and each later one', async () => {
    const taskId = await client.begin('asks', { key: key() })
    await client.until(taskId, 'input_required')
    await using stream = await listen({ taskIds: [taskId] })
    expect(await stream.next()).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: [taskId] }, _meta: subscription },
    })
    const { resultType: _, _meta, ...task } = await client.get(taskId)
    expect(await stream.next()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/tasks',
      params: { ...task, _meta: subscription },
    })
    await client.result('tasks/update', { taskId, inputResponses: { one: named('Ada'), two: named('Eve') } })
    const working = await stream.next()
    expect(working.params).toMatchObject({ taskId, status: 'working' })
    const completed = await stream.next()
    expect(completed.params).toMatchObject({
      taskId,
      status: 'completed',
      result: { resultType: 'complete', content: [{ text: 'Ada and Eve, begun 1 time' }] },
    })
  })

  test('sends status messages of its tasks only', async () => {
    const [one, other] = [await client.begin('sleeps', { key: key() }), await client.begin('sleeps', { key: key() })]
    await using stream = await listen({ taskIds: [one] })
    await stream.next()
    for (let heard = await stream.next(); heard.params.statusMessage !== 'asleep'; heard = await stream.next()) {
      expect(heard.params.taskId).toBe(one)
    }
    await client.result('tasks/cancel', { taskId: other })
    await client.result('tasks/cancel', { taskId: one })
    expect((await stream.next()).params).toMatchObject({ taskId: one, status: 'cancelled' })
  })

  test('sends notifications for several tasks and lists, to each of two subscribers', async () => {
    const ids = [await client.begin('asks', { key: key() }), await client.begin('asks', { key: key() })]
    await using one = await listen({ taskIds: ids, toolsListChanged: true })
    await using two = await listen({ taskIds: ids })
    expect((await one.next()).params.notifications).toEqual({ taskIds: ids, toolsListChanged: true })
    expect((await two.next()).params.notifications).toEqual({ taskIds: ids })
    await Promise.all(ids.map((taskId) => client.result('tasks/cancel', { taskId })))
    for (const stream of [one, two]) {
      const left = new Set(ids)
      while (left.size > 0) {
        const { params } = await stream.next()
        if (params.status === 'cancelled') left.delete(String(params.taskId))
      }
    }
  })

  test('acknowledges only tasks of its principal', async () => {
    const mine = await client.begin('asks', { key: key() })
    const adas = await client.begin('asks', { key: key() }, { user: 'ada' })
    await using stream = await listen({ taskIds: [adas, mine, 'nobody'] })
    expect((await stream.next()).params.notifications).toEqual({ taskIds: [mine] })
  })

  test('sends nothing for an expired task', async () => {
    const taskId = await client.begin('asks', { key: key() })
    await fetch(new URL('/later?by=3600001', server.url))
    await using stream = await listen({ taskIds: [taskId], toolsListChanged: true })
    expect((await stream.next()).params.notifications).toEqual({ taskIds: [], toolsListChanged: true })
  })

  test('a status that is too large for a notification is logged, and available from tasks/get', async () => {
    const taskId = await client.begin('asks', { key: key() })
    await using stream = await listen({ taskIds: [taskId] })
    await client.until(taskId, 'input_required')
    const answer = { action: 'accept', content: { name: 'x'.repeat(600_000) } }
    await client.result('tasks/update', { taskId, inputResponses: { one: answer, two: named('Eve') } })
    const completed = await client.until(taskId, 'completed')
    expect(JSON.stringify(completed).length).toBeGreaterThan(600_000)
    const logged = () => server.harness.getLogs().map(({ message }) => message)
    const problem = /The status "completed" of a task of the tool "asks" has 60\d{4} characters as a notification/
    await expect.poll(() => logged().find((message) => problem.test(message))).toBeDefined()
    expect((await stream.next()).method).toBe('notifications/subscriptions/acknowledged')
  })

  test.each<[string, Json, Json, object]>([
    ['a client that knows no tasks', { taskIds: [] }, { elicitation: {} }, { status: 400, error: { code: -32021 } }],
    ['ids that are a text', { taskIds: 'x' }, knowing, { error: { code: -32602 } }],
    ['ids that are numbers', { taskIds: [1] }, knowing, { error: { code: -32602 } }],
  ])('is refused: %s', async (_, notifications, capabilities, refused) => {
    expect(await client.ask('subscriptions/listen', { notifications }, { capabilities })).toMatchObject(refused)
  })
})
