/** Tasks as 2025-11-25 has them: the client asks for one, and waits for its result. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema, TaskStatusNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, everyRevision, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { behind, hour, key, named, ring } from './behind.ts'
import { type Json, textIn } from './client.ts'

const revision = '2025-11-25'

let server: TestServer
let client: TestClient
const asked: Json[] = []
/** What the person says next, by key of the question's message. */
const answers: Record<string, unknown[]> = {}
const answering = {
  elicit: (params: Json) => {
    asked.push(params)
    const answer = answers[String(params.message)]?.shift() ?? { action: 'decline' }
    if (answer instanceof Error) throw answer
    return answer
  },
}
beforeAll(async () => {
  server = await startServer('test/tasks/server', { EDGEMCP_KEYS: ring })
  client = await connect(server.url, { revision, answers: answering })
})
afterAll(async () => {
  await client?.close()
  await server?.[Symbol.asyncDispose]()
})

const { nameOf, later, left, tried, refuseLists, holdQuestions } = behind(() => server, 'experimental task')
const begin = async (name: string, args: Json = {}, task: Json = {}, by = client): Promise<Json> =>
  (await by.request('tools/call', { name, arguments: args, task })).task as Json
const beginId = async (...begun: Parameters<typeof begin>): Promise<string> => String((await begin(...begun)).taskId)
const get = (taskId: string) => client.request('tasks/get', { taskId })
const result = (taskId: string) => client.request('tasks/result', { taskId })
const relatedTo = (taskId: string) => ({ 'io.modelcontextprotocol/related-task': { taskId } })

describe('the capabilities of the server', () => {
  test('include tasks for clients of this protocol version only', async () => {
    const said = { list: {}, cancel: {}, requests: { tools: { call: {} } } }
    for (const each of everyRevision) {
      await using other = await connect(server.url, { revision: each })
      const { capabilities } = other.initializeResult as { capabilities: Json }
      expect(capabilities.tasks, each).toEqual(each === revision ? said : undefined)
      const { tools } = (await other.request('tools/list')) as { tools: Json[] }
      const support = Object.fromEntries(tools.map(({ name, execution }) => [name, execution]))
      expect(support.quick, each).toEqual(each === revision ? { taskSupport: 'optional' } : undefined)
      expect(support.must, each).toEqual(each === revision ? { taskSupport: 'required' } : undefined)
      expect(support.plain, each).toBeUndefined()
    }
  })
})

describe('a task', () => {
  test('is returned at once, and has the result of the call', async () => {
    const task = await begin('quick', { text: 'hi' })
    expect(task).toEqual({
      taskId: expect.any(String),
      status: 'working',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      lastUpdatedAt: expect.any(String),
      ttl: 24 * hour,
      pollInterval: 1000,
    })
    const taskId = String(task.taskId)
    expect(await result(taskId)).toEqual({ content: [{ type: 'text', text: 'hi' }], _meta: relatedTo(taskId) })
    expect(await get(taskId)).toMatchObject({ taskId, status: 'completed', createdAt: task.createdAt })
    expect(await get(taskId)).not.toHaveProperty('result')
    expect(await result(taskId)).toMatchObject({ content: [{ text: 'hi' }] })
  })

  test('has the ttl that the client requests, up to that of the tool', async () => {
    expect(await begin('asks', { key: key() }, { ttl: 60_000 })).toMatchObject({ ttl: 60_000 })
    expect(await begin('asks', { key: key() }, { ttl: 99 * hour })).toMatchObject({ ttl: hour })
  })

  test('sends input requests on the stream of tasks/result, repeatedly', async () => {
    const it = key()
    const taskId = await beginId('asks', { key: it })
    await expect
      .poll(() => get(taskId))
      .toMatchObject({ status: 'input_required', statusMessage: 'Waiting for input: One?; Two?' })
    answers['One?'] = [named('Ada')]
    answers['Two?'] = [{ action: 'decline' }]
    asked.length = 0
    expect(textIn(await result(taskId))).toBe('Ada and decline, begun 1 time')
    expect(asked.map(({ message }) => message)).toEqual(['One?', 'Two?'])
    expect(asked.map(({ _meta }) => _meta)).toEqual([relatedTo(taskId), relatedTo(taskId)])

    answers['Who?'] = [named('Ada'), named('Eve'), named('Grace')]
    expect(textIn(await result(await beginId('again')))).toBe('Hello, Grace')
    expect(answers['Who?']).toEqual([])
  })

  test('gets an error when its client rejects the input request', async () => {
    const taskId = await beginId('again')
    answers['Who?'] = [new Error('not now')]
    const refused = await result(taskId)
    expect(refused).toMatchObject({
      isError: true,
      content: [{ text: 'The client returned an error for "name": not now' }],
    })
    expect(await get(taskId)).toMatchObject({ status: 'failed' })
  })

  test('fails when its client lacks the capability for its input request', async () => {
    await using mute = await connect(server.url, { revision })
    const taskId = await beginId('asks', { key: key() }, {}, mute)
    await expect(mute.request('tasks/result', { taskId })).resolves.toMatchObject({
      isError: true,
      content: [{ text: 'This call needs a client that supports elicitation' }],
    })
  })

  test('fails when its tool fails or throws a protocol error', async () => {
    const failing = await beginId('fails')
    expect(await result(failing)).toMatchObject({ isError: true, content: [{ text: 'It went wrong' }] })
    expect(await get(failing)).toMatchObject({ status: 'failed' })
    const refusing = await beginId('refuses')
    await expect(result(refusing)).rejects.toMatchObject({ code: -32602, data: { reason: 'test' } })
    expect(await get(refusing)).toMatchObject({ status: 'failed' })
  })

  test('has structured content that matches the listed output schema', async () => {
    expect(await result(await beginId('union'))).toMatchObject({ structuredContent: { result: { tag: 'object' } } })
  })

  test('is cancelled once while a tasks/result request waits', async () => {
    const it = key()
    const taskId = await beginId('hangs', { key: it })
    // It may hear of the cancellation before whoever cancels does.
    const refused = { code: -32602, message: 'The task was cancelled: it has no result' }
    const waiting = expect(result(taskId)).rejects.toMatchObject(refused)
    await expect.poll(() => tried(it)).toBe('1')
    const cancelled = { taskId, status: 'cancelled' }
    expect(await client.request('tasks/cancel', { taskId })).toMatchObject(cancelled)
    await waiting
    await expect(client.request('tasks/cancel', { taskId })).rejects.toMatchObject({
      code: -32602,
      message: 'The task has already ended: it is cancelled',
    })
    expect(await get(taskId)).toMatchObject(cancelled)
  })

  test('is cancelled while its input request is open, and no request waits for it', async () => {
    const open: string[] = []
    await using other = await connect(server.url, {
      revision,
      answers: {
        // Nobody answers.
        elicit({ message }: Json) {
          open.push(String(message))
          return new Promise(() => {})
        },
      },
    })
    const taskId = await beginId('asks', { key: key() }, {}, other)
    const waiting = expect(other.request('tasks/result', { taskId })).rejects.toMatchObject({
      message: 'The task was cancelled: it has no result',
    })
    await expect.poll(() => open).toEqual(['One?', 'Two?'])
    await other.request('tasks/cancel', { taskId })
    await waiting
    const withdrawn = [await other.next('notifications/cancelled'), await other.next('notifications/cancelled')]
    expect(withdrawn.map(({ params }) => params?.requestId)).toEqual(['ask-1', 'ask-2'])
  })

  test('that is cancelled while its question is on the way to the client ends a tasks/result request', async () => {
    await using other = await connect(server.url, { revision, answers: { elicit: () => new Promise(() => {}) } })
    const taskId = await beginId('asks', { key: key() }, {}, other)
    await holdQuestions(true)
    const waiting = expect(other.request('tasks/result', { taskId })).rejects.toMatchObject({
      message: 'The task was cancelled: it has no result',
    })
    await expect.poll(() => holdQuestions(true)).toBe(1)
    await other.request('tasks/cancel', { taskId })
    await holdQuestions(false, taskId)
    await waiting
  })

  test('that ends while another tasks/result request waits for input makes that request fail as retryable', async () => {
    const open: (() => void)[] = []
    await using other = await connect(server.url, {
      revision,
      answers: { elicit: () => new Promise((resolve) => open.push(() => resolve(named('Ada')))) },
    })
    const taskId = await beginId('asks', { key: key() }, {}, other)
    const first = other.request('tasks/result', { taskId })
    await expect.poll(() => open.length).toBe(2)
    const second = expect(other.request('tasks/result', { taskId })).rejects.toMatchObject({
      message: 'The task has ended: request its result again',
      data: { retryable: true },
    })
    await expect.poll(() => open.length).toBe(4)
    for (const answer of open.slice(0, 2)) answer()
    expect(textIn(await first)).toMatch(/Ada and Ada/)
    await second
    expect(textIn(await other.request('tasks/result', { taskId }))).toMatch(/Ada and Ada/)
  })

  test('is aborted during a sleep when it is cancelled', async () => {
    const it = key()
    const taskId = await beginId('tidies', { key: it })
    await expect.poll(() => tried(it)).toBe('1')
    await client.request('tasks/cancel', { taskId })
    await expect.poll(() => tried(`${it} tidied: The task was cancelled`)).toBe('1')
    // It is over only once.
    await later(25 * hour, taskId)
    expect(await left(taskId)).toEqual({ keys: [], alarm: false })
    expect(await tried(`${it} tidied: The task has expired`)).toBe('0')
  })

  test('is aborted during a sleep when it expires', async () => {
    const it = key()
    const taskId = await beginId('tidies', { key: it }, { ttl: 60_000 })
    await expect.poll(() => tried(it)).toBe('1')
    await expect.poll(async () => (await left(taskId)).alarm).toBe(true)
    await later(60_001, taskId)
    await expect.poll(() => tried(`${it} tidied: The task has expired`)).toBe('1')
    await expect(get(taskId)).rejects.toMatchObject({ code: -32602 })
  })

  test('is announced on the stream of the session that started it', async () => {
    await using listening = await connect(server.url, { revision })
    const stream = await listening.subscribe({ toolsListChanged: true })
    const taskId = await beginId('quick', { text: 'hi' }, {}, listening)
    expect((await listening.next('notifications/tasks/status')).params).toMatchObject({ taskId, status: 'completed' })
    await stream.close()
  })

  test('completes for a waiting tasks/result, although its object was lost', async () => {
    const it = key()
    const taskId = await beginId('lost', { key: it })
    const waiting = result(taskId)
    expect(textIn(await waiting)).toBe('done in try 2')
  })
})

describe('tasks/list', () => {
  test('has each task that starts: a task that cannot be listed does not start', async () => {
    const it = key()
    await refuseLists(true)
    try {
      await expect(begin('flaky', { key: it, fails: 0 })).rejects.toMatchObject({ code: -32603 })
    } finally {
      await refuseLists(false)
    }
    // Runs after the first one would.
    await result(await beginId('flaky', { key: key(), fails: 0 }))
    expect(await tried(it)).toBe('0')
  })

  const ada = { issuer: 'https://names.example', subject: 'Bearer ada' }
  test('returns the tasks of the principal in pages, until they expire', async () => {
    await using adas = await connect(server.url, { revision, token: 'ada' })
    await using eves = await connect(server.url, { revision, token: 'eve' })
    const ids: string[] = []
    for (let number = 1; number <= 23; number += 1) {
      ids.push(await beginId('quick', { text: `${number}` }, { ttl: number === 1 ? 60_000 : hour }, adas))
    }
    const evesId = await beginId('quick', { text: 'hi' }, {}, eves)
    const first = (await adas.request('tasks/list')) as { tasks: Json[]; nextCursor: string }
    const second = (await adas.request('tasks/list', { cursor: first.nextCursor })) as typeof first
    expect(first.tasks.length).toBe(20)
    expect(second.nextCursor).toBeUndefined()
    expect([...first.tasks, ...second.tasks].map(({ taskId }) => taskId)).toEqual(ids)
    expect(first.tasks[0]).toMatchObject({ status: expect.any(String), ttl: 60_000, pollInterval: 1000 })
    expect(((await eves.request('tasks/list')).tasks as Json[]).map(({ taskId }) => taskId)).toEqual([evesId])
    await expect(eves.request('tasks/list', { cursor: first.nextCursor })).rejects.toMatchObject({ code: -32602 })
    expect(await nameOf(ids[0] as string, ada)).toMatch(/^[\w-]{22}$/)
    await later(60_001)
    const kept = (await adas.request('tasks/list')) as typeof first
    expect(kept.tasks.map(({ taskId }) => taskId)).toEqual(ids.slice(1, 21))
  })

  test('returns the tasks of the session to an anonymous caller', async () => {
    await using one = await connect(server.url, { revision })
    await using other = await connect(server.url, { revision })
    const taskId = await beginId('quick', { text: 'hi' }, {}, one)
    expect(await one.request('tasks/list')).toMatchObject({ tasks: [{ taskId }] })
    expect(await other.request('tasks/list')).toEqual({ tasks: [] })
    // The id is all it takes.
    expect(await other.request('tasks/get', { taskId })).toMatchObject({ taskId })
  })
})

describe('an invalid request', () => {
  const unknown = { code: -32602, message: 'Unknown task' }
  const call = (name: string, task: unknown) => ({ name, arguments: {}, task })
  test.each<[string, string, () => Promise<Json> | Json, object]>([
    ['of an unknown id', 'tasks/get', () => ({ taskId: 'nobody' }), unknown],
    ['of an unknown id', 'tasks/result', () => ({ taskId: 'nobody' }), unknown],
    ['of an unknown id', 'tasks/cancel', () => ({ taskId: 'nobody' }), unknown],
    ['without an id', 'tasks/get', () => ({}), { code: -32602, message: 'params.taskId must be a string' }],
    ['without an id', 'tasks/result', () => ({}), { code: -32602, message: 'params.taskId must be a string' }],
    ['without an id', 'tasks/cancel', () => ({ taskId: 5 }), { code: -32602 }],
    ['of another cursor', 'tasks/list', () => ({ cursor: 'x' }), { code: -32602 }],
    ['of an empty cursor', 'tasks/list', () => ({ cursor: '' }), { code: -32602 }],
    ['of a number as a cursor', 'tasks/list', () => ({ cursor: 1 }), { code: -32602 }],
    ['of a method of newer versions', 'tasks/update', () => ({ taskId: 'x', inputResponses: {} }), { code: -32601 }],
    [
      'as a task, of a tool without task support',
      'tools/call',
      () => call('plain', {}),
      { code: -32601, message: 'The tool "plain" does not run as a task: call it without params.task' },
    ],
    [
      'not as a task, of a tool that requires one',
      'tools/call',
      () => call('must', undefined),
      { code: -32601, message: 'The tool "must" runs only as a task: call it with params.task' },
    ],
    ['of an unknown tool', 'tools/call', () => call('nothing', {}), { code: -32602, message: 'Unknown tool: nothing' }],
    ['with a task that is a text', 'tools/call', () => call('quick', 'yes'), { code: -32602 }],
    ['with a task that is null', 'tools/call', () => call('quick', null), { code: -32602 }],
    ['with a ttl that is a text', 'tools/call', () => call('quick', { ttl: '1h' }), { code: -32602 }],
    ['with a ttl of zero', 'tools/call', () => call('quick', { ttl: 0 }), { code: -32602 }],
    ['with a negative ttl', 'tools/call', () => call('quick', { ttl: -1 }), { code: -32602 }],
    [
      'with arguments above the size limit',
      'tools/call',
      () => ({ name: 'quick', arguments: { text: 'x'.repeat(900_000) }, task: {} }),
      { code: -32602 },
    ],
    [
      'of a task of a newer client',
      'tasks/get',
      async () => {
        await using newer = await connect(server.url, {
          revision: '2026-07-28',
          capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
        })
        const { taskId } = await newer.request('tools/call', { name: 'quick', arguments: { text: 'hi' } })
        expect(taskId).toEqual(expect.any(String))
        return { taskId }
      },
      unknown,
    ],
    [
      'of a task of another principal',
      'tasks/result',
      async () => {
        await using eves = await connect(server.url, { revision, token: 'eve' })
        return { taskId: await beginId('quick', { text: 'hi' }, {}, eves) }
      },
      unknown,
    ],
  ])('%s is refused: %s', async (_, method, params, error) => {
    await expect(client.request(method, await params())).rejects.toMatchObject(error)
  })

  test.each(['2025-06-18', '2025-03-26', '2024-11-05'])(
    'the param task is ignored for clients of %s',
    async (older) => {
      await using other = await connect(server.url, { revision: older })
      const waited = await other.request('tools/call', { name: 'quick', arguments: { text: 'hi' }, task: {} })
      expect(waited).toMatchObject({ content: [{ text: 'hi' }] })
      for (const method of ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel']) {
        await expect(other.request(method, { taskId: 'x' })).rejects.toMatchObject({ code: -32601 })
      }
      expect(await other.request('tools/call', { name: 'must', arguments: {} })).toMatchObject({
        isError: true,
        content: [{ text: 'The tool "must" runs only as a task, and this client does not support tasks' }],
      })
    },
  )
})

describe('the official client', () => {
  test('runs a task: gets its status, answers its input requests and gets its result', async () => {
    const sdk = new Client({ name: 'sdk', version: '1' }, { capabilities: { elicitation: {} } })
    const statuses: string[] = []
    sdk.setRequestHandler(ElicitRequestSchema, ({ params }) =>
      params.message === 'One?' ? { action: 'accept', content: { name: 'Ada' } } : { action: 'decline' },
    )
    sdk.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => void statuses.push(params.status))
    await sdk.connect(new StreamableHTTPClientTransport(server.url))
    await sdk.listTools()
    const messages: Json[] = []
    const it = key()
    for await (const message of sdk.experimental.tasks.callToolStream({ name: 'asks', arguments: { key: it } })) {
      messages.push(message as unknown as Json)
    }
    expect(messages[0]).toMatchObject({
      type: 'taskCreated',
      task: { status: 'working', ttl: hour, pollInterval: 100 },
    })
    expect(messages.slice(1, -1).every(({ type }) => type === 'taskStatus')).toBe(true)
    expect(messages.at(-1)).toMatchObject({
      type: 'result',
      result: { content: [{ text: 'Ada and decline, begun 1 time' }] },
    })
    const { taskId } = (messages[0] as { task: { taskId: string } }).task
    expect(await sdk.experimental.tasks.getTask(taskId)).toMatchObject({ status: 'completed' })
    expect((await sdk.experimental.tasks.listTasks()).tasks.map((task) => task.taskId)).toEqual([taskId])
    await expect.poll(() => statuses.at(-1)).toBe('completed')

    const hanging = sdk.experimental.tasks.callToolStream({ name: 'hangs', arguments: { key: key() } })
    const created = (await hanging.next()).value as { task: { taskId: string } }
    expect(await sdk.experimental.tasks.cancelTask(created.task.taskId)).toMatchObject({ status: 'cancelled' })
    const ended: Json[] = []
    for await (const message of hanging) ended.push(message as unknown as Json)
    expect(ended.at(-1)).toMatchObject({ type: 'error' })
    await sdk.close()
  })
})
