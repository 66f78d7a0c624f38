import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { events as eventsIn } from '../../worker/client/wire.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/privileged')
})
afterAll(() => server[Symbol.asyncDispose]())

const [high, low] = ['ada~hr.read~hr.write', 'ada']

class Client {
  session = ''
  #id = 0

  /** Of the request that was sent last. */
  get lastId(): number {
    return this.#id
  }

  static async open(token: string): Promise<Client> {
    const client = new Client()
    const response = await client.post(token, {
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: { elicitation: {} },
        clientInfo: { name: 'test', version: '1' },
      },
    })
    await response.text()
    client.session = response.headers.get('Mcp-Session-Id') as string
    return client
  }

  post(token: string, message: object): Promise<Response> {
    this.#id += 1
    return fetch(server.url, {
      method: 'POST',
      headers: { ...this.#headers(token), 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', ...('method' in message && { id: this.#id }), ...message }),
    })
  }

  call(token: string, name: string, args: object = {}): Promise<Response> {
    const params = { name, arguments: args, _meta: { progressToken: 'token' } }
    return this.post(token, { method: 'tools/call', params })
  }

  async beginTask(token: string, name: string): Promise<string> {
    const response = await this.post(token, { method: 'tools/call', params: { name, arguments: {}, task: {} } })
    const { result } = (await response.json()) as { result: { task: { taskId: string } } }
    return result.task.taskId
  }

  get(token: string, after?: string, signal?: AbortSignal): Promise<Response> {
    return fetch(server.url, {
      headers: { ...this.#headers(token), ...(after && { 'Last-Event-ID': after }) },
      signal: signal ?? null,
    })
  }

  #headers(token: string): Record<string, string> {
    return {
      Authorization: `Bearer ${token}`,
      Accept: 'application/json, text/event-stream',
      ...(this.session && { 'Mcp-Session-Id': this.session }),
    }
  }
}

type SentEvent = { id: string | undefined; data: string }

/** Reads events until one contains a text, or to the end. */
async function eventsOf(response: Response, until?: string, events: SentEvent[] = []): Promise<SentEvent[]> {
  for await (const { id, data } of eventsIn(response)) {
    events.push({ id, data })
    if (until && events.some(({ data }) => data.includes(until))) break
  }
  return events.filter(({ data }) => data !== '')
}

async function expectScopeChallenge(response: Response, scopes: string): Promise<void> {
  expect(response.status).toBe(403)
  expect(response.headers.get('WWW-Authenticate')).toContain(`error="insufficient_scope"`)
  expect(response.headers.get('WWW-Authenticate')).toContain(`scope="${scopes}"`)
  expect(await response.json()).toMatchObject({ error: { code: -32600 } })
}

describe('the stream of a call', () => {
  test('is resumed with a token that has the scopes of the call, and refused with one that lacks them', async () => {
    const client = await Client.open(high)
    const events = await eventsOf(await client.call(high, 'salaries'))
    expect(events.at(-1)?.data).toContain('salaries: 1, 2')
    const [first] = events as [SentEvent]
    const start = `${first.id?.split('.')[0]}.0`
    for (const after of [start, first.id]) {
      await expectScopeChallenge(await client.get(low, after), 'hr.read')
      await expectScopeChallenge(await client.get('ada~hr.write', after), 'hr.write hr.read')
    }
    expect(await eventsOf(await client.get(high, start))).toEqual(events)
    expect(await eventsOf(await client.get('ada~hr.read', first.id))).toEqual(events.slice(1))
  })

  test('requires the scopes of each call of a batch', async () => {
    const client = new Client()
    const opened = await client.post(high, {
      method: 'initialize',
      params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    })
    await opened.text()
    client.session = opened.headers.get('Mcp-Session-Id') as string
    const call = (id: number, name: string) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: { name: 'Ada' }, _meta: { progressToken: id } },
    })
    const response = await fetch(server.url, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${high}`,
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        'Mcp-Session-Id': client.session,
      },
      body: JSON.stringify([call(1, 'greet'), call(2, 'salaries')]),
    })
    const [first] = await eventsOf(response)
    await expectScopeChallenge(await client.get(low, first?.id), 'hr.read')
  })

  test('is resumed with any token of its principal when the call requires no scopes', async () => {
    const client = await Client.open(high)
    const events = await eventsOf(await client.call(high, 'greet', { name: 'Bob' }))
    expect(await eventsOf(await client.get(low, events[0]?.id))).toEqual(events.slice(1))
  })

  test('accepts the input response only of a token that has the scopes', async () => {
    const client = await Client.open(high)
    const stream = await client.call(high, 'raise')
    const events: SentEvent[] = []
    const ended = eventsOf(stream, undefined, events)
    await vi.waitFor(() => expect(events.at(-1)?.data).toContain('elicitation/create'))
    const { id } = JSON.parse(events.at(-1)?.data ?? '{}') as { id: string }
    const answer = { id, result: { action: 'accept', content: { sure: true } } }
    await expectScopeChallenge(await client.post('ada~hr.read', answer), 'hr.read hr.write')
    expect((await client.post(high, answer)).status).toBe(202)
    await ended
    expect(events.at(-1)?.data).toContain('raised: true')
  })
})

describe('a call that requires scopes', () => {
  const cancellation = (requestId: unknown) => ({ method: 'notifications/cancelled', params: { requestId } })

  /** A message without an id. */
  const notify = (client: Client, token: string, message: object) => client.post(token, { ...message, id: undefined })

  test('is not cancelled by a token that lacks them while it runs', async () => {
    const client = await Client.open(high)
    const events: SentEvent[] = []
    const ended = eventsOf(await client.call(high, 'watch'), undefined, events)
    await vi.waitFor(() => expect(events.at(-1)?.data).toContain('watching'))
    await expectScopeChallenge(await notify(client, low, cancellation(client.lastId)), 'hr.read')
    await (await client.call(low, 'finish')).text()
    await ended
    expect(events.at(-1)?.data).toContain('watched')
  })

  test('is not cancelled by a token that lacks them while it waits for its client', async () => {
    const client = await Client.open(high)
    const events: SentEvent[] = []
    const ended = eventsOf(await client.call(high, 'raise'), undefined, events)
    const requestId = client.lastId
    await vi.waitFor(() => expect(events.at(-1)?.data).toContain('elicitation/create'))
    await expectScopeChallenge(await notify(client, 'ada~hr.read', cancellation(requestId)), 'hr.read hr.write')
    const { id } = JSON.parse(events.at(-1)?.data ?? '{}') as { id: string }
    await client.post(high, { id, result: { action: 'accept', content: { sure: true } } })
    await ended
    expect(events.at(-1)?.data).toContain('raised: true')
  })

  test('is cancelled by a token that has them', async () => {
    const client = await Client.open(high)
    const events: SentEvent[] = []
    const ended = eventsOf(await client.call(high, 'raise'), undefined, events)
    const requestId = client.lastId
    await vi.waitFor(() => expect(events.at(-1)?.data).toContain('elicitation/create'))
    expect((await notify(client, high, cancellation(requestId))).status).toBe(202)
    await ended
    expect(events.at(-1)?.data).toContain('notifications/cancelled')
  })

  test('is not cancelled over HTTP+SSE by a token that lacks them', async () => {
    const stop = new AbortController()
    const stream = await fetch(new URL('/sse', server.url), {
      headers: { Authorization: `Bearer ${high}` },
      signal: stop.signal,
    })
    const events: SentEvent[] = []
    void eventsOf(stream, undefined, events).catch(() => {})
    await vi.waitFor(() => expect(events[0]?.data).toContain('/messages'))
    const post = (token: string, message: object) =>
      fetch(new URL(events[0]?.data ?? '', server.url), {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      })
    const params = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    await post(high, { id: 1, method: 'initialize', params })
    const _meta = { progressToken: 1 }
    await post(high, { id: 2, method: 'tools/call', params: { name: 'watch', arguments: {}, _meta } })
    await vi.waitFor(() => expect(events.map(({ data }) => data).join()).toContain('notifications/progress'))
    await expectScopeChallenge(await post(low, cancellation(2)), 'hr.read')
    await post(low, { id: 3, method: 'tools/call', params: { name: 'finish', arguments: {} } })
    await vi.waitFor(() => expect(events.map(({ data }) => data).join()).toContain('watched'))
    stop.abort()
  })
})

describe('the audit log has the scopes', () => {
  type Told = { outcome: string; targets: { method: string }[]; scopes: string[] }
  const toldOf = async (method: string, outcome: string): Promise<Told | undefined> => {
    const events = (await (await fetch(new URL('/audited', server.url))).json()) as Told[]
    return events.findLast(
      (event) => event.outcome === outcome && event.targets.some((target) => target.method === method),
    )
  }

  test('of a task that is polled', async () => {
    const client = await Client.open(high)
    const taskId = await client.beginTask(high, 'report')
    const poll = { method: 'tasks/result', params: { taskId } }
    await (await client.post(high, poll)).text()
    await vi.waitFor(async () => expect((await toldOf('tasks/result', 'allowed'))?.scopes).toEqual(['hr.read']))
    await expectScopeChallenge(await client.post(low, poll), 'hr.read')
    await vi.waitFor(async () => expect((await toldOf('tasks/result', 'refused'))?.scopes).toEqual(['hr.read']))
  })

  test('of a call that a token without them cancels', async () => {
    const client = await Client.open(high)
    const events: SentEvent[] = []
    const ended = eventsOf(await client.call(high, 'raise'), undefined, events)
    const requestId = client.lastId
    await vi.waitFor(() => expect(events.at(-1)?.data).toContain('elicitation/create'))
    const cancelled = { id: undefined, method: 'notifications/cancelled', params: { requestId } }
    await expectScopeChallenge(await client.post(low, cancelled), 'hr.read hr.write')
    await vi.waitFor(async () =>
      expect((await toldOf('notifications/cancelled', 'refused'))?.scopes).toEqual(['hr.read', 'hr.write']),
    )
    await (await client.post(high, cancelled)).text()
    await ended
  })
})

test('the stream of tasks/result requires the scopes of the tool that the task runs', async () => {
  const client = await Client.open(high)
  const taskId = await client.beginTask(high, 'review')
  const events: SentEvent[] = []
  const ended = eventsOf(await client.post(high, { method: 'tasks/result', params: { taskId } }), undefined, events)
  await vi.waitFor(() => expect(events.at(-1)?.data).toContain('elicitation/create'))
  const asked = events.at(-1) as SentEvent
  const start = `${asked.id?.split('.')[0]}.0`
  await expectScopeChallenge(await client.get(low, start), 'hr.read hr.write')
  await expectScopeChallenge(await client.get('ada~hr.write', asked.id), 'hr.write hr.read')
  const { id } = JSON.parse(asked.data) as { id: string }
  const answer = { id, result: { action: 'accept', content: { sure: true } } }
  await expectScopeChallenge(await client.post('ada~hr.read', answer), 'hr.read hr.write')
  expect((await client.post(high, answer)).status).toBe(202)
  await ended
  // The call has taken a step since, and its stream still takes the scopes.
  expect(events.at(-1)?.data).toContain('accept')
  await expectScopeChallenge(await client.get(low, start), 'hr.read hr.write')
  expect(await eventsOf(await client.get(high, start))).toEqual(events.filter(({ data }) => data !== ''))
})

describe('the status of a task whose tool requires scopes', () => {
  const idsIn = (events: readonly SentEvent[]) =>
    events.flatMap(({ data }) => (data.includes('tasks/status') ? [JSON.parse(data).params.taskId] : []))

  test('is sent only on streams that a token with the scopes opened', async () => {
    const client = await Client.open(high)
    const wide = await client.get(high)
    const seen = await client.beginTask(high, 'report')
    expect(idsIn(await eventsOf(wide, seen))).toEqual([seen])
    const narrow = await client.get('ada~hr.write')
    const hidden = await client.beginTask(high, 'report')
    await (await client.post(high, { method: 'tasks/result', params: { taskId: hidden } })).text()
    const open = await client.beginTask(high, 'count')
    expect(idsIn(await eventsOf(narrow, open))).toEqual([open])
  })

  test('is sent on a stream whose session object is lost between the check of its token and its first event', async () => {
    const client = await Client.open(high)
    await fetch(new URL('/lose', server.url))
    const stream = await client.get(high)
    const seen = await client.beginTask(high, 'report')
    expect(idsIn(await eventsOf(stream, seen))).toEqual([seen])
  })

  test('is not replayed to a token that lacks them, and other events are', async () => {
    const client = await Client.open(high)
    const wide = await client.get(high)
    const hidden = await client.beginTask(high, 'report')
    await eventsOf(wide, hidden)
    const again = await client.get(high, '0.0')
    const open = await client.beginTask(high, 'count')
    await (await client.call(high, 'touch', { id: 'ada-3' })).text()
    expect(idsIn(await eventsOf(again, 'tools/list_changed'))).toEqual([hidden, open])
    expect(idsIn(await eventsOf(await client.get(low, '0.0'), 'tools/list_changed'))).toEqual([open])
  })
})

test('a token that lacks the scopes of a subscription gets no replay of its notifications', async () => {
  const client = await Client.open(high)
  expect(
    await (await client.post(high, { method: 'resources/subscribe', params: { uri: 'record://ada-1' } })).json(),
  ).toMatchObject({ result: {} })
  const stop = new AbortController()
  const standing = await client.get(high, undefined, stop.signal)
  await (await client.call(high, 'touch', { id: 'ada-1' })).text()
  const events = await eventsOf(standing, 'record://ada-1')
  expect(events.at(-1)?.id).toBeDefined()
  stop.abort()
  const resumed = await client.get(low, '0.0')
  expect(resumed.status).toBe(200)
  await (await client.call(high, 'touch', { id: 'ada-2' })).text()
  const read = await eventsOf(resumed, 'tools/list_changed')
  expect(read.map(({ data }) => data).filter((data) => data.includes('record://'))).toEqual([])
})

test('requests to Session objects name no arguments, claims or session ids', async () => {
  const client = await Client.open(high)
  for (let round = 0; round < 3; round += 1) {
    const events = await eventsOf(await client.call(high, 'greet', { name: 'hunter2' }))
    await (await client.get(high, events[0]?.id)).text()
    await (await client.get(high, 'my%20secret')).text()
    const stop = new AbortController()
    await client.get(high, undefined, stop.signal)
    stop.abort()
  }
  const response = await client.call(high, 'requests')
  const { result } = (await response.json()) as { result: { content: [{ text: string }] } }
  // A random UUID may contain "ada".
  const requests = result.content[0].text.replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'uuid')
  expect(requests).toContain('https://session/')
  for (const secret of ['hunter2', 'hr.read', 'hr.write', 'ada', 'acme', 'secret', client.session]) {
    expect(requests, secret).not.toContain(secret)
  }
})
