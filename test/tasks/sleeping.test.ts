/** Sleeps of tasks: by key, beside one another and beside effects. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ControlledServer, startControlled } from '../support/objects.ts'
import { behind, hour, key, ring } from './behind.ts'
import { TaskClient, textIn, textOf } from './client.ts'

let server: ControlledServer
let client: TaskClient
beforeAll(async () => {
  server = await startControlled('test/tasks/server', { EDGEMCP_KEYS: ring })
  client = new TaskClient(server.url)
})
afterAll(() => server[Symbol.asyncDispose]())

const { later, tried } = behind(() => server, 'task')
const evicted = (task: string) =>
  expect.poll(() => server.evict({ task }, { webSockets: 'close' }).then(() => true)).toBe(true)

test('sleeps of parallel branches keep their times when the handler is replayed', async () => {
  const it = key()
  const taskId = await client.begin('branches', { key: it })
  await evicted(taskId)
  await later(hour + 1000, taskId)
  await expect.poll(() => tried(`${it} short`)).toBe('1')
  expect(await tried(`${it} long`)).toBe('0')
  await evicted(taskId)
  await later(4 * hour, taskId)
  expect(textOf(await client.until(taskId, 'completed'))).toBe('both')
  expect([await tried(`${it} short`), await tried(`${it} long`)]).toEqual(['1', '1'])
})

test('a short sleep ends before a long one beside it', async () => {
  const it = key()
  const taskId = await client.begin('mixed', { key: it })
  await expect.poll(() => tried(it), { timeout: 10_000 }).toBe('1')
  expect(await client.get(taskId)).toMatchObject({ status: 'working' })
  await client.result('tasks/cancel', { taskId })
})

describe.each([
  ['a task', {}],
  ['a call', { capabilities: {} }],
])('during %s', (what, sent) => {
  test.each([
    ['inside', 'The sleep "pause" is inside ctx.once("poll"): sleep before or after it'],
    ['twice', 'The sleep key "pause" is used twice in one call: use each key once'],
    ['without a key', 'The duration of the sleep "1h" is undefined: use milliseconds'],
    ['no moment', 'The date of the sleep "pause" is invalid: use a valid Date, or milliseconds since 1970'],
  ])('an invalid sleep is refused: %s', async (how, message) => {
    const answer = await client.call('misslept', { how }, sent)
    const result = what === 'a call' ? answer : (await client.until(String(answer.taskId), 'completed')).result
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(message) }] })
    expect(textIn(result as never)).not.toContain('undefined is not')
  })
})

test('a sleep inside an effect ends, and the effect continues', { timeout: 30_000 }, async () => {
  const it = key()
  const taskId = await client.begin('later_inside', { key: it })
  const slept = () => client.get(taskId).then(({ status }) => status)
  await expect.poll(slept, { timeout: 25_000 }).toBe('completed')
  expect(await tried(it)).toBe('1')
})
