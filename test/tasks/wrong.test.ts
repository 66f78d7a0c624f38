import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { type Json, knowing, type Sent, TaskClient, textOf } from './client.ts'

let server: TestServer
let client: TaskClient
/** Ids of tasks: of Ada, one that is done, one that asks, one that is cancelled, one that has failed. */
const ids: Record<string, string> = {}
beforeAll(async () => {
  server = await startServer('test/tasks/server')
  client = new TaskClient(server.url)
  ids.adas = await client.begin('asks', { key: 'ada' }, { user: 'ada' })
  ids.done = await client.begin('quick', { text: 'hi' })
  ids.asking = await client.begin('asks', { key: 'asking' })
  ids.cancelled = await client.begin('hangs', { key: 'cancelled' })
  ids.failed = await client.begin('refuses')
  await client.result('tasks/cancel', { taskId: ids.cancelled })
  await client.until(ids.done, 'completed')
  await client.until(ids.asking, 'input_required')
  await client.until(ids.failed, 'failed')
})
afterAll(() => server[Symbol.asyncDispose]())

const unknown = { status: 200, error: { code: -32602, message: 'Unknown task' } }
const acknowledged = { status: 200, result: { resultType: 'complete' } }
const undeclared = {
  status: 400,
  error: { code: -32021, data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } } },
}
const mismatch = { status: 400, error: { code: -32020 } }
const invalid = (message: string) => ({ status: 200, error: { code: -32602, message } })
const missing = (method: string) => ({
  status: 404,
  error: { code: -32601, message: `Method not found: ${method}` },
})

const methods = ['tasks/get', 'tasks/update', 'tasks/cancel']
const params = (taskId: unknown, more: Json = {}): Json => ({ taskId, inputResponses: {}, ...more })
const altered = (id: string) => `${id.slice(0, -2)}${id.endsWith('AA') ? 'BB' : 'AA'}`

type Wrong = [what: string, method: string, params: () => Json, outcome: object, sent?: Sent]

const everyMethod: Wrong[] = methods.flatMap((method): Wrong[] => [
  ['of an unknown id', method, () => params('nobody-made-this'), unknown],
  ['of an empty id', method, () => params(''), unknown],
  ['of an id with a letter changed', method, () => params(altered(ids.done as string)), unknown],
  ['of an id cut short', method, () => params((ids.done as string).slice(0, 20)), unknown],
  ['of a task of another principal', method, () => params(ids.adas), unknown, { user: 'eve' }],
  ['of a task of a principal, by an anonymous caller', method, () => params(ids.adas), unknown],
  ['of a task of an anonymous caller, by a principal', method, () => params(ids.done), unknown, { user: 'ada' }],
  ['without an id', method, () => ({ inputResponses: {} }), mismatch],
  ['of a number', method, () => params(5), invalid('params.taskId must be a string'), { headers: { 'Mcp-Name': '5' } }],
  ['by a client that has not declared it', method, () => params(ids.done), undeclared, { capabilities: {} }],
  [
    'by a client that has declared another extension',
    method,
    () => params(ids.done),
    undeclared,
    { capabilities: { extensions: { 'com.example/tasks': {} } } },
  ],
  ['with another name in the header', method, () => params(ids.done), mismatch, { headers: { 'Mcp-Name': 'x' } }],
])

const rows: Wrong[] = [
  ...everyMethod,
  ['is gone', 'tasks/result', () => params(ids.done), missing('tasks/result')],
  ['is gone', 'tasks/list', () => ({}), missing('tasks/list')],
  ['of a completed task changes nothing', 'tasks/update', () => params(ids.done), acknowledged],
  [
    'with responses to unknown input requests changes nothing',
    'tasks/update',
    () => params(ids.asking, { inputResponses: { three: { action: 'accept' } } }),
    acknowledged,
  ],
  [
    'with answers that are a list is refused',
    'tasks/update',
    () => params(ids.asking, { inputResponses: [] }),
    invalid('params.inputResponses must be an object'),
  ],
  ...[undefined, null].map(
    (inputResponses): Wrong => [
      `with answers that are ${inputResponses} is refused`,
      'tasks/update',
      () => params(ids.asking, { inputResponses }),
      invalid('params.inputResponses must be an object'),
    ],
  ),
  ['of a task that is cancelled is acknowledged', 'tasks/cancel', () => params(ids.cancelled), acknowledged],
  ['of a task that is done is acknowledged', 'tasks/cancel', () => params(ids.done), acknowledged],
  ['of a task that has failed is acknowledged', 'tasks/cancel', () => params(ids.failed), acknowledged],
  [
    'of a tool that must be a task by a client that knows none is refused',
    'tools/call',
    () => ({ name: 'must', arguments: {} }),
    undeclared,
    { capabilities: {} },
  ],
  [
    'with a task parameter of another version creates no task for a tool without task support',
    'tools/call',
    () => ({ name: 'plain', arguments: {}, task: { ttl: 1000 } }),
    { status: 200, result: { resultType: 'complete', content: [{ type: 'text', text: 'plain' }] } },
  ],
  [
    'of a tool by a name in a list starts no task',
    'tools/call',
    () => ({ name: ['quick'], arguments: { text: 'hi' } }),
    invalid('params.name must be a string'),
    { headers: { 'Mcp-Name': 'quick' } },
  ],
  ['of an unknown tool is an error', 'tools/call', () => ({ name: 'nothing' }), invalid('Unknown tool: nothing')],
]

describe('an invalid request', () => {
  test.each(rows)('%s: %s', async (_, method, paramsOf, outcome, sent = {}) => {
    expect(await client.ask(method, paramsOf(), { capabilities: knowing, ...sent })).toMatchObject(outcome)
  })

  test('does not change the task', async () => {
    expect(await client.get(ids.done as string)).toMatchObject({ status: 'completed' })
    expect(await client.get(ids.cancelled as string)).toMatchObject({ status: 'cancelled' })
    expect(Object.keys((await client.get(ids.asking as string)).inputRequests as Json)).toEqual(['one', 'two'])
    expect(await client.get(ids.adas as string, { user: 'ada' })).toMatchObject({ status: 'input_required' })
    expect(rows.length).toBeGreaterThanOrEqual(40)
  })

  test.each([
    ['an invalid input response', { one: { action: 'maybe' }, two: { action: 'decline' } }],
    [
      'an input response that does not match its schema',
      { one: { action: 'accept', content: { name: 5 } }, two: { action: 'decline' } },
    ],
  ])('%s is refused, and the task continues to wait', async (_, inputResponses) => {
    const taskId = await client.begin('asks', { key: crypto.randomUUID() })
    await client.until(taskId, 'input_required')
    expect(await client.ask('tasks/update', { taskId, inputResponses })).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('The answer to "one"') },
    })
    const { inputRequests } = await client.until(taskId, 'input_required')
    expect(Object.keys(inputRequests as Json)).toEqual(['one', 'two'])
    const valid = { one: { action: 'accept', content: { name: 'Ada' } }, two: { action: 'decline' } }
    await client.result('tasks/update', { taskId, inputResponses: valid })
    expect(textOf(await client.until(taskId, 'completed'))).toBe('Ada and decline, begun 1 time')
  })

  test('an input response that the handler rejects is requested again', async () => {
    const key = crypto.randomUUID()
    const taskId = await client.begin('even', { key })
    await client.until(taskId, 'input_required')
    const answer = (number: number) =>
      client.result('tasks/update', { taskId, inputResponses: { number: { action: 'accept', content: { number } } } })
    await answer(3)
    expect(await client.until(taskId, 'input_required')).toMatchObject({
      statusMessage: expect.stringContaining('must be even'),
      inputRequests: { number: { params: { message: 'Which?' } } },
    })
    await answer(4)
    const completed = await client.until(taskId, 'completed')
    expect(textOf(completed)).toBe('4, charged 1 time')
    expect(completed.statusMessage).toBeUndefined()
  })

  test('invalid arguments become an error result of the task', async () => {
    const taskId = await client.begin('quick', { text: 5 })
    const { result } = await client.until(taskId, 'completed')
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('Invalid arguments for quick') }],
    })
  })

  test('arguments above the size limit of tasks are refused, and those at the limit are stored', async () => {
    const asked = (size: number) => client.ask('tools/call', { name: 'quick', arguments: { text: 'ü'.repeat(size) } })
    const message = 'The arguments are too long for a task: at most 900000 characters'
    expect(await asked(900_000)).toMatchObject({ error: { code: -32602, message } })
    const { result } = await asked(899_000)
    const task = await client.until(String(result?.taskId), 'completed')
    expect(JSON.stringify(task.result)).toContain('ü'.repeat(899_000))
  })

  test('a task that is cancelled several times at once is cancelled once', async () => {
    const key = crypto.randomUUID()
    const taskId = await client.begin('hangs', { key })
    await Promise.all([1, 2, 3].map(() => client.result('tasks/cancel', { taskId })))
    expect(await client.get(taskId)).toMatchObject({ status: 'cancelled' })
  })
})
