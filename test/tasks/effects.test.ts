/** An effect happens once, whatever clients send again and whatever cannot be stored. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ControlledServer, startControlled } from '../support/objects.ts'
import { behind, hour, key, ring } from './behind.ts'
import { type Answered, type Json, knowing, TaskClient, textIn, textOf } from './client.ts'

let server: ControlledServer
let client: TaskClient
beforeAll(async () => {
  server = await startControlled('test/tasks/server', { EDGEMCP_KEYS: ring })
  client = new TaskClient(server.url)
})
afterAll(() => server[Symbol.asyncDispose]())

const { later, tried, untilAlarm } = behind(() => server, 'task')
const yes = { sure: { action: 'accept', content: { yes: true } } }
const sampling = { capabilities: { ...knowing, sampling: {} } }

/** Calls a tool that asks, and returns what it takes to answer, any number of times. */
async function asked(args: Json): Promise<() => Promise<Answered>> {
  const first = await client.call('charge', args)
  expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { sure: {} } })
  const params = { name: 'charge', arguments: args, requestState: first.requestState, inputResponses: yes }
  return () => client.ask('tools/call', params)
}

const done = (result: Json | undefined) => textIn(result as Json)

describe('a repeated round', () => {
  const once = 'accept, charged 1 time, shipped 1 time'

  test('has the same result', async () => {
    const answer = await asked({ key: key() })
    expect(done((await answer()).result)).toBe(once)
    expect(done((await answer()).result)).toBe(once)
  })

  test('has the same result while the first one runs', async () => {
    const answer = await asked({ key: key() })
    const [one, other] = await Promise.all([answer(), answer()])
    expect([done(one.result), done(other.result)]).toEqual([once, once])
  })

  test('has the same result, although the input response took longer than `ttl`', async () => {
    const it = key()
    const answer = await asked({ key: it })
    await later(hour)
    expect(done((await answer()).result)).toBe(once)
    await later(hour)
    expect(done((await answer()).result)).toBe(once)
  })

  test('continues for a principal who takes most of a day for each input response', async () => {
    const ada = { user: 'ada' }
    const params = { name: 'approvals', arguments: { key: key() } }
    let asked = await client.result('tools/call', params, ada)
    for (const name of ['one', 'two', 'three']) {
      expect(asked).toMatchObject({ inputRequests: { [name]: {} } })
      await later(15 * hour)
      const inputResponses = { [name]: yes.sure }
      asked = await client.result('tools/call', { ...params, requestState: asked.requestState, inputResponses }, ada)
    }
    expect(textIn(asked)).toBe('3 approvals')
  })

  test('is refused after the call expired, and has no effects', async () => {
    const it = key()
    const answer = await asked({ key: it })
    await later(23 * hour)
    expect(done((await answer()).result)).toBe(once)
    await later(2 * hour)
    expect((await answer()).error).toMatchObject({ code: -32602 })
    expect(await tried(it)).toBe('1')
  })

  test('continues without the tasks extension if its call started without it', async () => {
    const it = key()
    const params = { name: 'charge', arguments: { key: it } }
    const first = await client.result('tools/call', params, { capabilities: { elicitation: { form: {} } } })
    const { requestState } = first
    const answered = await client.result('tools/call', { ...params, requestState, inputResponses: yes })
    expect(textIn(answered)).toBe(once)
  })

  test('is refused without the tasks extension if its call started with it', async () => {
    const it = key()
    const params = { name: 'charge', arguments: { key: it } }
    const { requestState } = await client.result('tools/call', params)
    const again = { ...params, requestState, inputResponses: yes }
    expect(await client.ask('tools/call', again, { capabilities: { elicitation: { form: {} } } })).toMatchObject({
      error: { code: -32021 },
    })
    expect(await tried(it)).toBe('1')
  })
})

describe('a value that cannot be stored', () => {
  test('ends a task once, with an error that the model reads: a result without a JSON form', async () => {
    const it = key()
    const task = await client.until(await client.begin('unsayable', { key: it }), 'completed')
    const text = expect.stringMatching(
      /^"_meta" of the result of tool "unsayable" has a bigint at at, which has no JSON form/,
    )
    expect(task.result).toMatchObject({ isError: true, content: [{ text }] })
    expect(await tried(it)).toBe('1')
  })

  test('fails a task once: a result above the size limit of responses', async () => {
    const task = await client.until(await client.begin('large', { size: 30_000_001 }), 'failed')
    expect(task.error).toMatchObject({ message: expect.stringContaining('at most 30000000 are allowed') })
  })

  test.each([
    [
      'bigint',
      'Cannot store the result of once "charge": a bigint, which has no JSON form: use plain objects, arrays, strings, finite numbers, booleans and null',
    ],
    ['text', 'Cannot store the result of once "charge": it has 2400012 bytes, at most 1900000 are allowed'],
  ])('fails a task once, without retries: a result of ctx.once that is a %s', async (of, message) => {
    const it = key()
    const task = await client.until(await client.begin('big_once', { key: it, of }), 'failed')
    expect(task.error).toMatchObject({ code: -32603, message: expect.stringContaining(message) })
    expect(await tried(it)).toBe('1')
  })

  test.each([
    ['map', 'a value of the class Map'],
    ['nan', 'NaN at n'],
    ['function', 'a function'],
  ])('fails a task once, without retries: a result of ctx.once that JSON changes: %s', async (of, what) => {
    const it = key()
    const task = await client.until(await client.begin('lossy_once', { key: it, of }), 'failed')
    expect(task.error).toMatchObject({ code: -32603, message: expect.stringContaining(what) })
    expect(await tried(it)).toBe('1')
  })

  test('does not include an input request of several megabytes', async () => {
    const it = key()
    const taskId = await client.begin('big_question', { key: it, size: 2_500_000 }, sampling)
    await client.until(taskId, 'input_required', sampling)
    const answer = { role: 'assistant', model: 'm', content: { type: 'text', text: 'short' } }
    await client.result('tasks/update', { taskId, inputResponses: { sum: answer } }, sampling)
    expect(textOf(await client.until(taskId, 'completed', sampling))).toBe('short')
    expect(await tried(it)).toBe('1')
  })

  test('fails a task once: an input request above the size limit', async () => {
    const it = key()
    const taskId = await client.begin('big_question', { key: it, size: 15_000_001 }, sampling)
    const task = await client.until(taskId, 'failed', sampling)
    expect(task.error).toMatchObject({ message: expect.stringContaining('Cannot store the input request "sum"') })
    expect(await tried(it)).toBe('1')
  })

  test('does not include a status message, which is cut', async () => {
    const task = await client.until(await client.begin('chatty'), 'completed')
    expect(String(task.statusMessage)).toHaveLength(10_000)
  })
})

test('a task that repeatedly loses its object without progress fails', { timeout: 120_000 }, async () => {
  const it = key()
  const taskId = await client.begin('doomed', { key: it })
  await expect
    .poll(
      () =>
        client.ask('tasks/get', { taskId }).then(
          ({ result }) => result?.error,
          () => undefined,
        ),
      { timeout: 110_000 },
    )
    .toMatchObject({ code: -32603, message: expect.stringContaining('lost 20 times without progress') })
  expect(Number(await tried(it))).toBeLessThanOrEqual(22)
})

test('an effect inside an effect runs once, however often the outer one runs', async () => {
  const it = key()
  const taskId = await client.begin('nested', { key: it })
  await expect.poll(() => tried(`${it} outer`)).toBe('1')
  await later(5000, taskId)
  expect(textOf(await client.until(taskId, 'completed'))).toBe('inner 1, outer 2')
})

test('a cancelled task whose handler continues sets no alarm before it expires', async () => {
  const it = key()
  const taskId = await client.begin('ignores_signal', { key: it })
  await client.result('tasks/cancel', { taskId })
  try {
    expect(await untilAlarm(taskId)).toBeGreaterThan(hour)
    expect(await tried(`${it} over`)).toBe('0')
  } finally {
    await client.call('release', { key: it })
  }
  await expect.poll(() => tried(`${it} over`)).toBe('1')
  expect(await untilAlarm(taskId)).toBeGreaterThan(hour)
  expect(await tried(it)).toBe('1')
})
