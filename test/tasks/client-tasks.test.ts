import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { events } from '../../worker/client/wire.ts'
import { connect } from '../../worker/testing/index.ts'
import { type ControlledServer, startControlled } from '../support/objects.ts'
import { postMessage } from '../support/session-http.ts'

let server: ControlledServer
beforeAll(async () => {
  server = await startControlled('test/tasks/by-client')
})
afterAll(() => server[Symbol.asyncDispose]())

type Json = Record<string, unknown>
type Received = { id?: string; method?: string; params: Json; result?: Json; error?: Json }

const capabilities = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  tasks: { requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
}

/** A client that answers each request of the server by hand. */
class Client implements AsyncDisposable {
  readonly #session: string
  readonly #token: string | undefined
  readonly #events: AsyncGenerator<Received>

  private constructor(session: string, token: string | undefined, stream: Response) {
    this.#session = session
    this.#token = token
    this.#events = eventsOf(stream)
  }

  static async call(name: string, token?: string): Promise<Client> {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities,
      clientInfo: { name: 'test', version: '1' },
    }
    const opened = await postMessage(server.url, { id: 0, method: 'initialize', params }, undefined, token)
    await opened.text()
    const session = opened.headers.get('Mcp-Session-Id') as string
    const call = { id: 1, method: 'tools/call', params: { name, arguments: {} } }
    return new Client(session, token, await postMessage(server.url, call, session, token))
  }

  /**
   * Returns the next message of the server, which has a method, or is the reply. Requests about the task of other methods are skipped: the
   * server repeats those that a slow client has not answered yet.
   */
  async next(method?: string): Promise<Received> {
    for (;;) {
      const { value } = await this.#events.next()
      if (value?.method === method || !value?.method?.startsWith('tasks/')) return value
    }
  }

  async answer({ id }: Received, answer: { result: object } | { error: object }): Promise<void> {
    const response = await this.#answer(id, answer, this.#token)
    expect(response.status).toBe(202)
  }

  /** Answers with another token of the same user. @returns the status */
  async answerAs(token: string, { id }: Received, answer: { result: object }): Promise<number> {
    return (await this.#answer(id, answer, token)).status
  }

  #answer(id: string | undefined, answer: object, token: string | undefined): Promise<Response> {
    return postMessage(server.url, { id, ...answer }, this.#session, token)
  }

  /** Loses the object of the session, which keeps its sockets. */
  async evict(): Promise<void> {
    await server.evict({ session: this.#session })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#events.return(undefined)
  }
}

async function* eventsOf(response: Response): AsyncGenerator<Received> {
  for await (const { data } of events(response)) if (data !== '') yield JSON.parse(data)
}

const taskOf = (status: string, more: object = {}) => ({
  taskId: 'client-task',
  status,
  createdAt: new Date(0).toISOString(),
  lastUpdatedAt: new Date(0).toISOString(),
  ttl: null,
  pollInterval: 1,
  ...more,
})
const message = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Short' } }
const textIn = ({ result = {} }: Received) => (result.content as { text: string }[] | undefined)?.[0]?.text

describe('an input request with a task', () => {
  test('is polled until the task of the client has ended, also if the session object is lost', async () => {
    await using client = await Client.call('summarize')
    const asked = await client.next()
    expect(asked).toMatchObject({ method: 'sampling/createMessage', params: { task: { ttl: 3_600_000 } } })
    await client.answer(asked, { result: { task: taskOf('working') } })
    await client.evict()
    const first = await client.next('tasks/get')
    expect(first).toMatchObject({ method: 'tasks/get', params: { taskId: 'client-task' } })
    await client.answer(first, { result: taskOf('input_required') })
    const second = await client.next('tasks/get')
    expect(second).toMatchObject({ method: 'tasks/get', params: { taskId: 'client-task' } })
    expect(second.id).not.toBe(first.id)
    await client.evict()
    await client.answer(second, { result: taskOf('completed') })
    const fetched = await client.next('tasks/result')
    expect(fetched).toMatchObject({ method: 'tasks/result', params: { taskId: 'client-task' } })
    await client.answer(fetched, { result: message })
    expect(textIn(await client.next())).toBe('Short, 0 more effects')
  })

  test('is polled again if the client does not answer', async () => {
    await using client = await Client.call('summarize')
    await client.answer(await client.next(), { result: { task: taskOf('working') } })
    const first = await client.next('tasks/get')
    const second = await client.next('tasks/get')
    expect([first.method, second.method]).toEqual(['tasks/get', 'tasks/get'])
    // A late answer counts, too.
    await client.answer(first, { result: taskOf('completed') })
    const fetched = await client.next('tasks/result')
    await client.answer(fetched, { result: message })
    expect(textIn(await client.next())).toMatch(/^Short/)
  })

  test('may be answered without a task', async () => {
    await using client = await Client.call('summarize')
    await client.answer(await client.next(), { result: message })
    expect(textIn(await client.next())).toMatch(/^Short/)
  })

  test('fails with the error of the task', async () => {
    await using client = await Client.call('summarize')
    await client.answer(await client.next(), { result: { task: taskOf('failed') } })
    const fetched = await client.next('tasks/result')
    expect(fetched.method).toBe('tasks/result')
    await client.answer(fetched, { error: { code: -1, message: 'no model' } })
    expect(textIn(await client.next())).toBe('The client returned an error for "summary": no model')
  })

  test('ends with its timeout, after which the task of the client is cancelled', async () => {
    await using client = await Client.call('confirm')
    const asked = await client.next()
    expect(asked).toMatchObject({ method: 'elicitation/create', params: { task: {} } })
    await client.answer(asked, { result: { task: taskOf('working', { pollInterval: 60_000 }) } })
    await server.advance(60 * 60_000)
    expect(await client.next('tasks/cancel')).toMatchObject({
      method: 'tasks/cancel',
      params: { taskId: 'client-task' },
    })
    expect(await client.next()).toMatchObject({ id: 1, error: { message: 'Timed out waiting for input' } })
  })

  test('elicits forms and pages', async () => {
    await using form = await Client.call('confirm')
    await form.answer(await form.next(), { result: { task: taskOf('completed') } })
    await form.answer(await form.next('tasks/result'), { result: { action: 'accept', content: { sure: true } } })
    expect(textIn(await form.next())).toBe('accept true')
    await using page = await Client.call('visit')
    const asked = await page.next()
    expect(asked.params).toMatchObject({ mode: 'url', task: { ttl: 7_200_000 }, elicitationId: expect.any(String) })
    await page.answer(asked, { result: { task: taskOf('completed') } })
    await page.answer(await page.next('tasks/result'), { result: { action: 'decline' } })
    expect(textIn(await page.next())).toBe('decline')
  })
})

test('answers about the task need the scopes of the call', async () => {
  await using client = await Client.call('salaries', 'hr.read')
  const answers = {
    'sampling/createMessage': { task: taskOf('working') },
    'tasks/get': taskOf('completed'),
    'tasks/result': message,
  }
  for (const [method, result] of Object.entries(answers)) {
    const asked = await client.next(method)
    expect(asked.method).toBe(method)
    expect(await client.answerAs('none', asked, { result })).toBe(403)
    await client.answer(asked, { result })
  }
  expect(textIn(await client.next())).toBe('Short')
})

test.each([
  ['without an id', {}],
  ['with an id that is too long', { taskId: 'x'.repeat(2000) }],
])('a task %s is not a response', async (_, task) => {
  await using client = await Client.call('summarize')
  await client.answer(await client.next(), { result: { task } })
  expect(JSON.stringify(await client.next())).toContain('not a valid sampling/createMessage result')
})

test('a task that was not requested is not a response', async () => {
  await using client = await Client.call('plain')
  await client.answer(await client.next(), { result: { task: taskOf('working') } })
  const refused = await client.next()
  expect(JSON.stringify(refused)).toContain('not a valid sampling/createMessage result')
})

test.each([
  ['2025-11-25', { sampling: {}, tasks: { requests: { elicitation: { create: {} } } } }],
  ['2025-11-25', { sampling: {} }],
  ['2026-07-28', capabilities],
])('a client of %s with %j is refused', async (revision, declared) => {
  await using client = await connect(server.url, { revision, capabilities: declared })
  const refused = await client.callTool('summarize').catch((problem) => problem)
  expect(JSON.stringify(refused.content ?? refused.message)).toContain(
    'needs a client of 2025-11-25 that supports tasks.requests.sampling.createMessage',
  )
})
