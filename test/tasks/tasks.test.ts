import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { type ControlledServer, startControlled } from '../support/objects.ts'
import { behind, hour, key, named, ring } from './behind.ts'
import { type Json, TaskClient, textOf } from './client.ts'

let server: ControlledServer
let client: TaskClient
beforeAll(async () => {
  server = await startControlled('test/tasks/server', { EDGEMCP_KEYS: ring })
  client = new TaskClient(server.url)
})
afterAll(() => server[Symbol.asyncDispose]())

const { later, left, tried } = behind(() => server, 'task')
const putToSleep = (task: string) => server.evict({ task }, { webSockets: 'close' })

describe('a task', () => {
  test('is returned before it completes, and has its result until it expires', async () => {
    const created = await client.call('quick', { text: 'hi' })
    expect(created).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 24 * hour, pollIntervalMs: 1000 })
    const taskId = String(created.taskId)
    const task = await client.until(taskId, 'completed')
    expect(task).toMatchObject({
      resultType: 'complete',
      taskId,
      result: { resultType: 'complete', content: [{ type: 'text', text: 'hi' }] },
    })
    await putToSleep(taskId)
    expect(await client.get(taskId)).toEqual(task)
  })

  test('requests input in its status, accepts responses one by one, and continues', async () => {
    const it = key()
    const taskId = await client.begin('asks', { key: it })
    const asking = await client.until(taskId, 'input_required')
    expect(asking.statusMessage).toBe('Waiting for input: One?; Two?')
    expect(asking.inputRequests).toMatchObject({
      one: { method: 'elicitation/create', params: { message: 'One?' } },
      two: { method: 'elicitation/create', params: { message: 'Two?' } },
    })
    await putToSleep(taskId)
    const one = { taskId, inputResponses: { one: named('Ada'), three: named('Nobody') } }
    expect(await client.result('tasks/update', one)).toEqual({ resultType: 'complete', _meta: expect.anything() })
    expect(Object.keys((await client.get(taskId)).inputRequests as Json)).toEqual(['two'])
    expect(await client.get(taskId)).toMatchObject({ statusMessage: 'Waiting for input: Two?' })
    // What was answered stays answered.
    await client.result('tasks/update', { taskId, inputResponses: { one: named('Eve') } })
    await putToSleep(taskId)
    await client.result('tasks/update', { taskId, inputResponses: { two: { action: 'decline' } } })
    const task = await client.until(taskId, 'completed')
    expect(textOf(task)).toBe('Ada and decline, begun 1 time')
    expect(task.statusMessage).toBeUndefined()
  })

  test('without input responses fails when it expires', async () => {
    const taskId = await client.begin('asks', { key: key() })
    await client.until(taskId, 'input_required')
    expect(await left(taskId)).toMatchObject({ alarm: true })
    await later(hour + 1, taskId)
    expect(await client.ask('tasks/get', { taskId })).toMatchObject({
      error: { code: -32602, message: 'Unknown task' },
    })
    expect(await left(taskId)).toEqual({ keys: [], alarm: false })
  })

  test('hibernates during a sleep, and continues in time', async () => {
    const it = key()
    const taskId = await client.begin('sleeps', { key: it })
    await expect.poll(async () => (await client.get(taskId)).statusMessage).toBe('asleep')
    // Fails as long as something keeps it in memory.
    await expect.poll(() => putToSleep(taskId).then(() => true)).toBe(true)
    await later(hour - 5000, taskId)
    expect(await client.get(taskId)).toMatchObject({ status: 'working', statusMessage: 'asleep' })
    await later(10_000, taskId)
    await expect.poll(async () => (await client.get(taskId)).statusMessage).toBe('2 of 3')
    await putToSleep(taskId)
    await later(hour, taskId)
    expect(textOf(await client.until(taskId, 'completed'))).toBe('1 of 2')
  })

  test('is retried when its handler throws, up to its limit, with each effect once', async () => {
    // One after the other: while one is looked at, the time of the other would pass.
    async function played(fails: number): Promise<Json> {
      const it = key()
      const taskId = await client.begin('flaky', { key: it, fails })
      for (const times of ['1', '2']) {
        await expect.poll(() => tried(it)).toBe(times)
        await expect.poll(() => left(taskId)).toMatchObject({ alarm: true })
        await later(5000, taskId)
      }
      return client.until(taskId, 'completed')
    }
    expect(textOf(await played(2))).toBe('effect 1, try 3')
    expect((await played(3)).result).toMatchObject({
      isError: true,
      content: [{ text: 'Failed, time 3' }],
    })
  })

  test('ends when it is cancelled, and aborts its handler', async () => {
    const it = key()
    const taskId = await client.begin('hangs', { key: it })
    await expect.poll(() => tried(it)).toBe('1')
    expect(await client.result('tasks/cancel', { taskId })).toEqual({
      resultType: 'complete',
      _meta: expect.anything(),
    })
    expect(await client.get(taskId)).toMatchObject({ status: 'cancelled' })
    await expect.poll(() => tried(`${it} cancelled`)).toBe('1')
    expect(await client.get(taskId)).not.toHaveProperty('result')
  })

  test('can have a result larger than a row', async () => {
    const taskId = await client.begin('large', { size: 5_000_000 })
    const task = await client.until(taskId, 'completed')
    expect(String(textOf(task))).toHaveLength(5_000_000)
    await later(25 * hour, taskId)
    expect(await left(taskId)).toEqual({ keys: [], alarm: false })
  })

  test('fails with the protocol error that its handler throws', async () => {
    const task = await client.until(await client.begin('refuses'), 'failed')
    expect(task.error).toEqual({ code: -32602, message: 'Not like this', data: { reason: 'test' } })
    expect(task).not.toHaveProperty('result')
  })

  test('is created only if the tool takes longer than `answerWithin`', async () => {
    expect(await client.call('soon', { wait: 10 })).toMatchObject({
      resultType: 'complete',
      content: [{ text: 'waited 10' }],
    })
    const created = await client.call('soon', { wait: 1000 })
    expect(created).toMatchObject({ resultType: 'task', status: 'working' })
    expect(textOf(await client.until(String(created.taskId), 'completed'))).toBe('waited 1000')
  })
})

describe('a client without the tasks extension', () => {
  test('waits for the result', async () => {
    const answer = await client.call('soon', { wait: 400 }, { capabilities: {} })
    expect(answer).toMatchObject({ resultType: 'complete', content: [{ text: 'waited 400' }] })
  })

  test('is refused by a tool that requires a task', async () => {
    expect(await client.ask('tools/call', { name: 'must', arguments: {} }, { capabilities: {} })).toMatchObject({
      status: 400,
      error: {
        code: -32021,
        data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
      },
    })
  })

  test.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
    'of %s waits for the result',
    async (revision) => {
      await using older = await connect(server.url, { revision })
      expect(await older.callTool('soon', { wait: 20 })).toMatchObject({ content: [{ text: 'waited 20' }] })
      expect(await older.callTool('quick', { text: 'hi' })).toMatchObject({ content: [{ text: 'hi' }] })
    },
  )
})
