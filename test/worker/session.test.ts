import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Post, Posted, SessionRpc } from '../../durable-objects/session/rpc.ts'
import { type Duration, serve } from '../../worker/index.ts'
import { sessions } from '../../worker/plugins/sessions/index.ts'
import type { Message, RequestMessage } from '../../worker/protocol/jsonrpc.ts'
import { readRelayMessage } from '../../worker/protocol/relay-messages.ts'
import worker from '../support/everything/index.ts'
import { post, postOf, postTo, relayUrl, week } from './session-post.ts'

type Stub = DurableObjectStub & SessionRpc
type Namespace = { getByName(name: string): Stub }
/** `StrictSession` has `revive: false`. */
const { McpSession: namespace, StrictSession } = exports as unknown as Record<'McpSession' | 'StrictSession', Namespace>

afterEach(() => {
  vi.useRealTimers()
})

const session = () => namespace.getByName(crypto.randomUUID())
/** The class of the session, as other deployments had it. */
const classWith = (ttl: Duration, name: string) =>
  serve(worker.server, {
    path: `/${name}/mcp`,
    plugins: [sessions({ ttl })],
    durableObjects: { names: { McpSession: name } },
  }).McpSession
const HourlySession = classWith('1h', 'HourlySession')
const LongSession = classWith('3d', 'LongSession')

const strictSession = () => StrictSession.getByName(crypto.randomUUID())

const call = (name: string, args: object = {}) => post('tools/call', { name, arguments: args })

const tablesOf = (stub: Stub) =>
  runInDurableObject(stub, (_, state) => {
    const names = state.storage.sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
    return names.toArray().flatMap(({ name }) => (name.startsWith('_cf_') || name.startsWith('sqlite_') ? [] : [name]))
  })

/** Returns the number of open sockets of a session. */
const socketsOf = (stub: DurableObjectStub) =>
  runInDurableObject(
    stub,
    (_, state) => state.getWebSockets().filter(({ readyState }) => readyState === WebSocket.OPEN).length,
  )
const valuesOf = (stub: Stub) =>
  runInDurableObject(stub, (_, state) =>
    [...state.storage.kv.list()].flatMap(([key]) => (key === 'schema' ? [] : [key])),
  )
const alarmOf = (stub: Stub) => runInDurableObject(stub, (_, state) => state.storage.getAlarm())

async function open(stub: Stub, query: string) {
  const response = await stub.fetch(new Request(relayUrl(query), { headers: { Upgrade: 'websocket' } }))
  const frames: string[] = []
  const closed = Promise.withResolvers<number>()
  const socket = response.webSocket
  socket?.addEventListener('message', ({ data }) => {
    frames.push(...(readRelayMessage(data)?.payload ?? '').split(/(?<=\n\n)/))
  })
  socket?.addEventListener('close', ({ code }) => closed.resolve(code))
  socket?.accept()
  const start = response.headers.get('Last-Event-ID')
  return { status: response.status, start, frames, closed: closed.promise, socket }
}

/** Expects that the instance that a request reaches gives itself up. */
async function expectLoss(request: Promise<unknown>) {
  expect(await request.then(JSON.stringify, String)).toContain('The session cannot write to its storage')
}

/** Lets the storage of a session refuse statements, such as `INSERT ON events`, as when it is full. */
const refuse = (stub: Stub, statements: string[]) =>
  runInDurableObject(stub, (_, { storage: { sql } }) => {
    for (const statement of statements) {
      sql.exec(`CREATE TRIGGER "full ${statement}" BEFORE ${statement} BEGIN SELECT RAISE(ABORT, 'full'); END`)
    }
  })

const accept = (stub: Stub) =>
  runInDurableObject(stub, (_, { storage: { sql } }) => {
    const triggers = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'trigger'").toArray()
    for (const { name } of triggers) sql.exec(`DROP TRIGGER "${name}"`)
  })

describe('a session without state', () => {
  describe('gives its instance up when its first write is refused', () => {
    /** Lets this instance of the object refuse a value. */
    const refuseValue = (stub: Stub, refused: string) =>
      runInDurableObject(stub, (_, { storage: { kv } }) => {
        const put: typeof kv.put = (key, value) => {
          if (key === refused) throw new Error('database or disk is full')
          Object.getPrototypeOf(kv).put.call(kv, key, value)
        }
        Object.assign(kv, { put })
      })
    const wait = () =>
      post('tools/call', {
        name: 'wait',
        arguments: { key: crypto.randomUUID() },
        _meta: { progressToken: 'p' },
      })
    const level = () => post('logging/setLevel', { level: 'debug' })
    test.each([
      ['the id', 'a call that becomes a stream', 'id', wait],
      ['the id', 'a log level', 'id', level],
      ['the time after the id', 'a call that becomes a stream', 'lastSeenAt', wait],
      ['the time after the id', 'a log level', 'lastSeenAt', level],
    ])('%s of %s', async (_, __, value, request) => {
      const name = crypto.randomUUID()
      const stub = namespace.getByName(name)
      await refuseValue(stub, value)
      await expectLoss(postTo(stub, request()))
      const next = namespace.getByName(name)
      expect([await tablesOf(next), await valuesOf(next), await alarmOf(next)]).toEqual([[], [], null])
      expect(await postTo(next, call('ask_name'))).toEqual({ stream: 1 })
      expect(await valuesOf(next)).toEqual(['id', 'lastSeenAt'])
      expect(await runDurableObjectAlarm(next)).toBe(true)
      const answer = { jsonrpc: '2.0' as const, id: 'ask-1', result: { action: 'accept', content: { name: 'Ada' } } }
      const relay = await open(next, 'stream=1')
      expect(await postTo(next, { ...post(''), messages: [answer] })).toEqual({ status: 202 })
      expect(await relay.closed).toBe(1000)
    })
  })

  test('stores no data', async () => {
    const stub = session()
    expect(await postTo(stub, post('tools/list'))).toMatchObject({ status: 200 })
    expect(await postTo(stub, call('echo', { text: 'hi' }))).toMatchObject({ status: 200 })
    expect(await postTo(stub, post('ping'))).toMatchObject({ status: 200 })
    expect(await tablesOf(stub)).toEqual([])
    expect(await valuesOf(stub)).toEqual([])
    expect(await alarmOf(stub)).toBeNull()
  })
})

describe('a stream', () => {
  test('is stored before it is sent, and replayed from each of its events', async () => {
    const stub = session()
    const posted: Posted = await postTo(
      stub,
      post('tools/call', { name: 'progress', arguments: { steps: 3 }, _meta: { progressToken: 'p' } }),
    )
    await evictDurableObject(stub)
    const whole = await open(stub, 'stream=1')
    expect(await whole.closed).toBe(1000)
    // It has ended, so its client needs no relay.
    const priming = 'id: 1.0\nretry: 1000\ndata: \n\n'
    expect(posted).toEqual({ stream: 1, frames: priming + whole.frames.join('') })
    expect(whole.frames.map((frame) => frame.split('\n')[0])).toEqual(['id: 1.1', 'id: 1.2', 'id: 1.3', 'id: 1.4'])
    const rest = await open(stub, 'after=1.2')
    await rest.closed
    expect(rest.frames).toEqual(whole.frames.slice(2))
    expect((await open(stub, 'after=1.4')).status).toBe(405)
    for (const unknown of ['1.5', '2.0', '1.-1', 'x', '01.1']) {
      expect((await open(stub, `after=${unknown}`)).status, unknown).toBe(400)
    }
  })

  test('is not resumed after its age limit, and an alarm deletes it', async () => {
    const hour = 60 * 60_000
    const steps = { name: 'progress', arguments: { steps: 3 }, _meta: { progressToken: 'p' } }
    const ended = async () => {
      const stub = session()
      expect(await postTo(stub, post('tools/call', steps))).toMatchObject({ stream: 1 })
      await (await open(stub, 'stream=1')).closed
      const left = ((await alarmOf(stub)) ?? 0) - Date.now()
      expect(left).toBeGreaterThan(hour - 60_000)
      expect(left).toBeLessThanOrEqual(hour)
      return stub
    }
    const age = async (stub: Stub, milliseconds: number) => {
      await runInDurableObject(stub, (_, { storage }) =>
        storage.sql.exec('UPDATE streams SET at = at - ?', milliseconds),
      )
      // The next instance reads the changed rows.
      await evictDurableObject(stub)
    }
    const eventsOf = (stub: Stub) =>
      runInDurableObject(stub, (_, { storage }) => storage.sql.exec('SELECT seq FROM events').toArray().length)

    const resumed = await ended()
    await age(resumed, hour - 60_000)
    expect((await open(resumed, 'after=1.2')).status).toBe(101)
    await age(resumed, 120_000)
    expect((await open(resumed, 'after=1.2')).status).toBe(400)
    expect(await eventsOf(resumed)).toBe(0)

    const alone = await ended()
    expect(await runDurableObjectAlarm(alone)).toBe(true)
    expect(await eventsOf(alone)).toBe(4)
    expect(((await alarmOf(alone)) ?? 0) - Date.now()).toBeLessThanOrEqual(hour)
    await age(alone, hour + 1)
    expect(await runDurableObjectAlarm(alone)).toBe(true)
    expect(await eventsOf(alone)).toBe(0)
    // Nothing is left to delete: the next alarm is that of the idle session.
    expect(((await alarmOf(alone)) ?? 0) - Date.now()).toBeGreaterThan(20 * hour)
  })

  test('continues after the object was evicted during an input request', async () => {
    const stub = session()
    expect(await postTo(stub, call('ask_name'))).toEqual({ stream: 1 })
    const relay = await open(stub, 'stream=1')
    await vi.waitFor(() => expect(relay.frames.join('')).toContain('"id":"ask-1"'))
    await evictDurableObject(stub, { webSockets: 'hibernate' })
    const answer = { jsonrpc: '2.0' as const, id: 'ask-1', result: { action: 'accept', content: { name: 'Ada' } } }
    expect(await postTo(stub, { ...post(''), messages: [answer] })).toEqual({ status: 202 })
    expect(await relay.closed).toBe(1000)
    expect(relay.frames.join('')).toContain('Hello, Ada!')
    // The same answer once more, and one that nobody waits for, change nothing.
    for (const id of ['ask-1', 'ask-99', 'other', 7]) {
      expect(await postTo(stub, { ...post(''), messages: [{ ...answer, id }] })).toEqual({ status: 202 })
    }
  })

  test('whose input request times out ends in time while an alarm keeps the object awake for another call', async () => {
    const stub = session()
    const key = crypto.randomUUID()
    const waits = { name: 'wait', arguments: { key }, _meta: { progressToken: 'p' } }
    expect(await postTo(stub, post('tools/call', waits))).toEqual({ stream: 1 })
    await runInDurableObject(stub, (_, state) => state.storage.setAlarm(Date.now()))
    // The alarm runs, and no other one can.
    await vi.waitFor(async () => expect(await alarmOf(stub)).toBeNull())
    const asks = { ...call('ask_soon').messages[0], id: 2 } as RequestMessage
    expect(await postTo(stub, { ...post(''), messages: [asks] })).toEqual({ stream: 2 })
    const relay = await open(stub, 'stream=2')
    expect(await relay.closed).toBe(1000)
    expect(relay.frames.at(-1)).toContain('Timed out waiting for input')
    const params = { requestId: 1 }
    await postTo(stub, { ...post(''), messages: [{ jsonrpc: '2.0', method: 'notifications/cancelled', params }] })
  })

  test.each(['', 'unknown', 7, null, {}])(
    'of a call with the param taskId %j accepts its input response',
    async (taskId) => {
      const stub = session()
      expect(await postTo(stub, post('tools/call', { name: 'ask_name', taskId }))).toEqual({ stream: 1 })
      const relay = await open(stub, 'stream=1')
      const answer = { jsonrpc: '2.0' as const, id: 'ask-1', result: { action: 'accept', content: { name: 'Ada' } } }
      expect(await postTo(stub, { ...post(''), messages: [answer] })).toEqual({ status: 202 })
      expect(await relay.closed).toBe(1000)
      expect(relay.frames.join('')).toContain('Hello, Ada!')
    },
  )

  test('whose input request times out ends with an error', async () => {
    const stub = session()
    // No alarm of the runtime comes while Date stands an hour ahead.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60 * 60_000 })
    await postTo(stub, call('ask_name'))
    await postTo(stub, {
      ...call('ask_soon'),
      messages: [{ ...call('ask_soon').messages[0], id: 2 } as RequestMessage],
    })
    expect(await alarmOf(stub)).toBe(Date.now() + 1000)
    const [patient, hasty] = [await open(stub, 'stream=1'), await open(stub, 'stream=2')]
    await evictDurableObject(stub, { webSockets: 'hibernate' })
    vi.setSystemTime(Date.now() + 1000)
    await runDurableObjectAlarm(stub)
    expect(await hasty.closed).toBe(1000)
    expect(hasty.frames.slice(-2)).toEqual([
      'id: 2.2\ndata: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ask-2","reason":"Timed out waiting for input"}}\n\n',
      'id: 2.3\ndata: {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Timed out waiting for input","data":{"reason":"timeout","retryable":true}}}\n\n',
    ])
    const late = { jsonrpc: '2.0' as const, id: 'ask-2', result: { action: 'accept', content: { value: 'late' } } }
    expect(await postTo(stub, { ...post(''), messages: [late] })).toEqual({ status: 202 })
    // The other has a day. In an hour the stream that ended is deleted.
    await vi.waitFor(async () => expect(await alarmOf(stub)).toBeGreaterThan(Date.now() + 59 * 60_000))
    const answer = { jsonrpc: '2.0' as const, id: 'ask-1', result: { action: 'accept', content: { name: 'Ada' } } }
    await postTo(stub, { ...post(''), messages: [answer] })
    expect(await patient.closed).toBe(1000)
    expect(patient.frames.join('')).toContain('Hello, Ada!')
    expect(hasty.frames).toHaveLength(3)
  })

  test('whose events cannot be written loses its connection, and continues once they can', async () => {
    const name = crypto.randomUUID()
    const stub = namespace.getByName(name)
    expect(await postTo(stub, call('ask_name'))).toEqual({ stream: 1 })
    const relay = await open(stub, 'stream=1')
    await vi.waitFor(() => expect(relay.frames.join('')).toContain('elicitation/create'))
    await refuse(stub, ['INSERT ON events'])
    const answer = { jsonrpc: '2.0' as const, id: 'ask-1', result: { action: 'accept', content: { name: 'Ada' } } }
    await expectLoss(postTo(stub, { ...post(''), messages: [answer] }))
    expect(await relay.closed).toBe(1006)
    const next = namespace.getByName(name)
    await accept(next)
    // As if the answer had not arrived.
    const resumed = await open(next, `after=1.${relay.frames.length}`)
    expect(await postTo(next, { ...post(''), messages: [answer] })).toEqual({ status: 202 })
    expect(await resumed.closed).toBe(1000)
    expect(resumed.frames.join('')).toContain('Hello, Ada!')
  })

  test.each(['DELETE ON questions', 'DELETE ON calls'])(
    'whose input response cannot be stored waits for it, and continues once it can: %s',
    async (statement) => {
      const name = crypto.randomUUID()
      const stub = namespace.getByName(name)
      expect(await postTo(stub, call('ask_name'))).toEqual({ stream: 1 })
      const relay = await open(stub, 'stream=1')
      await vi.waitFor(() => expect(relay.frames.join('')).toContain('elicitation/create'))
      await refuse(stub, [statement])
      const answer = { jsonrpc: '2.0' as const, id: 'ask-1', result: { action: 'accept', content: { name: 'Ada' } } }
      await expectLoss(postTo(stub, { ...post(''), messages: [answer] }))
      const next = namespace.getByName(name)
      await accept(next)
      const resumed = await open(next, `after=1.${relay.frames.length}`)
      expect(await postTo(next, { ...post(''), messages: [answer] })).toEqual({ status: 202 })
      expect(await resumed.closed).toBe(1000)
      expect(resumed.frames.join('')).toContain('Hello, Ada!')
    },
  )

  test('of an interrupted call ends once storage accepts writes, however many instances could not write', async () => {
    const name = crypto.randomUUID()
    const stub = () => namespace.getByName(name)
    const wait = { name: 'wait', arguments: { key: crypto.randomUUID() }, _meta: { progressToken: 'p' } }
    expect(await postTo(stub(), post('tools/call', wait))).toEqual({ stream: 1 })
    await refuse(stub(), ['DELETE ON calls', 'UPDATE ON calls', 'INSERT ON events', 'UPDATE ON streams'])
    await evictDurableObject(stub())
    for (const _ of ['first', 'second']) await expectLoss(open(stub(), 'after=1.1'))
    await accept(stub())
    const resumed = await open(stub(), 'after=1.1')
    expect(await resumed.closed).toBe(1000)
    expect(resumed.frames.join('')).toContain('The call was interrupted')
    expect(await postTo(stub(), call('echo', { text: 'hi' }))).toMatchObject({ status: 200 })
  })

  test('whose input request timed out does not accept the response, even before the alarm runs', async () => {
    const stub = session()
    await postTo(stub, call('ask_name'))
    const relay = await open(stub, 'stream=1')
    await runInDurableObject(stub, (_, { storage: { sql } }) => sql.exec('UPDATE calls SET due = 1'))
    // An instance reads this once.
    await evictDurableObject(stub, { webSockets: 'hibernate' })
    const answer = { jsonrpc: '2.0' as const, id: 'ask-1', result: { action: 'accept', content: { name: 'Ada' } } }
    expect(await postTo(stub, { ...post(''), messages: [answer] })).toEqual({ status: 202 })
    expect(await relay.closed).toBe(1000)
    expect(relay.frames.join('')).toContain('"reason":"timeout"')
    expect(relay.frames.join('')).not.toContain('Hello')
  })

  test('with a short timeout of its input request ends in time beside running calls', async () => {
    const stub = session()
    // No alarm of the runtime comes while Date stands an hour ahead.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60 * 60_000 })
    await postTo(stub, call('ask_soon'))
    const { params } = post('tools/call', {
      name: 'wait',
      arguments: { key: crypto.randomUUID() },
      _meta: { progressToken: 'p' },
    }).messages[0] as RequestMessage
    await postTo(stub, { ...post(''), messages: [{ jsonrpc: '2.0', id: 2, method: 'tools/call', params }] })
    expect(await alarmOf(stub)).toBe(Date.now() + 1000)
  })

  test('of a cancelled call that waits for input ends without a response, and cancels the input request', async () => {
    const stub = session()
    await postTo(stub, call('ask_name'))
    const relay = await open(stub, 'stream=1')
    const cancel = { jsonrpc: '2.0' as const, method: 'notifications/cancelled', params: { requestId: 1 } }
    await postTo(stub, { ...post(''), messages: [cancel] })
    expect(await relay.closed).toBe(1000)
    expect(relay.frames.at(-1)).toContain('"method":"notifications/cancelled","params":{"requestId":"ask-1"')
    expect(relay.frames.join('')).not.toContain('"id":1,')
  })

  test('of a cancelled call ends at once, even if its handler ignores the signal, and is not replayed', async () => {
    const stub = session()
    const args = { name: 'stubborn', arguments: { key: crypto.randomUUID() }, _meta: { progressToken: 'p' } }
    expect(await postTo(stub, post('tools/call', args))).toEqual({ stream: 1 })
    const relay = await open(stub, 'stream=1')
    const cancel = {
      jsonrpc: '2.0' as const,
      method: 'notifications/cancelled',
      params: { requestId: 1, reason: 'no' },
    }
    await postTo(stub, { ...post(''), messages: [cancel] })
    expect(await relay.closed).toBe(1000)
    await evictDurableObject(stub)
    expect((await open(stub, 'after=1.1')).status).toBe(405)
    expect(await postTo(stub, call('echo', { text: 'the id is free again' }))).toMatchObject({ status: 200 })
  })

  test('above the buffer of a reader is sent in parts, with each event once', async () => {
    const stub = session()
    expect(await postTo(stub, call('pour', { lines: 20, characters: 65_536 }))).toEqual({ stream: 1 })
    const frames: string[] = []
    const codes: number[] = []
    for (let query = 'stream=1'; codes.at(-1) !== 1000; query = `after=1.${frames.length}`) {
      const part = await open(stub, query)
      codes.push(await part.closed)
      expect(part.frames.join('').length).toBeLessThan(400_000)
      frames.push(...part.frames)
    }
    expect(codes).toEqual([4003, 4003, 4003, 4003, 4003, 1000])
    expect(frames.map((frame) => frame.split('\n', 1)[0])).toEqual(frames.map((_, index) => `id: 1.${index + 1}`))
    expect(frames).toHaveLength(21)
  })

  test('resumes without deleted notifications for its own relay, and not for a client with Last-Event-ID', async () => {
    const stub = session()
    expect(await postTo(stub, call('pour', { lines: 1500, characters: 1 }))).toMatchObject({ stream: 1 })
    expect((await open(stub, 'after=1.1&relay=a')).status).toBe(400)
    const again = await open(stub, 'after=1.1&relay=a&again=1')
    expect(await again.closed).toBe(1000)
    expect(again.frames).toHaveLength(1001)
    expect(again.frames.at(-1)).toContain('"id":1,"result"')
  })

  test('is not taken over by a connection that its client replaced', async () => {
    const stub = session()
    await open(stub, 'relay=a')
    const newer = await open(stub, 'relay=b')
    expect((await open(stub, 'relay=a&after=0.0&again=1')).status).toBe(409)
    await stub.changed({ list: 'tools' })
    await vi.waitFor(() => expect(newer.frames).toHaveLength(1))
    const itself = await open(stub, 'relay=b&after=0.1&again=1')
    expect([itself.status, await newer.closed]).toEqual([101, 4002])
    itself.socket?.close(4000)
  })

  test('reports its start, so that a relay misses no event before the first one', async () => {
    const stub = session()
    const relay = await open(stub, '')
    expect(relay.start).toBe('0.0')
    await stub.changed({ list: 'tools' })
    await vi.waitFor(() => expect(relay.frames).toHaveLength(1))
    expect((await open(stub, '')).start).toBe('0.1')
    const again = await open(stub, 'after=0.0')
    expect(again.start).toBe('0.0')
    await vi.waitFor(() => expect(again.frames).toEqual(relay.frames))
    again.socket?.close(4000)
  })

  test('has each delivery of a change once, however often the delivery is repeated', async () => {
    const stub = session()
    const relay = await open(stub, '')
    for (let time = 0; time < 4; time += 1) await stub.changed({ list: 'tools' }, undefined, undefined, 'one')
    await stub.changed({ list: 'prompts' }, undefined, undefined, 'another')
    await vi.waitFor(() => expect(relay.frames.join('')).toContain('prompts/list_changed'))
    expect(relay.frames.join('').match(/list_changed/g)).toHaveLength(2)
    relay.socket?.close(4000)
  })

  test('has each change of a batch once when all of the batch is delivered again', async () => {
    const stub = session()
    const relay = await open(stub, '')
    // As many as a Subscriptions object delivers at the same time. It does not know which of them a slow session has received.
    const batch = Array.from({ length: 32 }, (_, index) => `note://${index}`)
    for (let time = 0; time < 2; time += 1) {
      await Promise.all(batch.map((resource) => stub.changed({ resource }, undefined, undefined, resource)))
    }
    await stub.changed({ list: 'tools' })
    await vi.waitFor(() => expect(relay.frames.at(-1)).toContain('tools/list_changed'))
    expect(relay.frames.slice(0, -1).map((frame) => /"uri":"([^"]+)"/.exec(frame)?.[1])).toEqual(batch)
    relay.socket?.close(4000)
  })

  test('has the change of each list and of each subscribed resource when the session could not be called for long', async () => {
    const stub = session()
    const { frames, socket } = await open(stub, '')
    for (let time = 0; time < 2; time += 1) expect(await stub.missed(['note://1'], 'one')).toBe(true)
    await vi.waitFor(() => expect(frames).toHaveLength(4))
    const changes = ['tools/list_changed', 'prompts/list_changed', 'resources/list_changed', 'resources/updated']
    expect(frames.map((frame) => /notifications\/([\w/]+)/.exec(frame)?.[1])).toEqual(changes)
    expect(frames.at(-1)).toContain('"uri":"note://1"')
    socket?.close(4000)
    expect(await session().missed([], 'one')).toBe(false)
  })

  test('is not interrupted when another one, which nobody reads, has much at once', async () => {
    // What is sent in the same turn counts together.
    vi.useFakeTimers({ toFake: ['Date'] })
    const stub = session()
    const relay = await open(stub, '')
    expect(await postTo(stub, call('pour', { lines: 1, characters: 300_000 }))).toEqual({ stream: 1 })
    await stub.changed({ list: 'tools' })
    const sent = new Promise((resolve) => relay.socket?.addEventListener('message', () => resolve('sent')))
    expect(relay.frames.length > 0 ? 'sent' : await Promise.race([sent, relay.closed])).toBe('sent')
    relay.socket?.close(4000)
  })

  test('belongs to the newest relay', async () => {
    const stub = session()
    const older = await open(stub, 'primes=1')
    const newer = await open(stub, 'primes=1')
    expect(await older.closed).toBe(4002)
    await vi.waitFor(() => expect(newer.frames).toEqual(['id: 0.0\nretry: 1000\ndata: \n\n']))
    newer.socket?.close(4000)
  })
})

describe('a call whose object was lost while it ran', () => {
  const streamed = (name: string, key: string) =>
    post('tools/call', { name, arguments: { key }, _meta: { progressToken: 'p' } })

  test('is replayed when the tool is safe to retry, without repeated notifications', async () => {
    const stub = session()
    expect(await postTo(stub, streamed('stubborn', crypto.randomUUID()))).toEqual({ stream: 1 })
    await evictDurableObject(stub)
    const relay = await open(stub, 'stream=1')
    expect(await relay.closed).toBe(1000)
    const said = relay.frames.join('')
    expect(said).toContain('run 2')
    expect(said.match(/"progress":\d/g)).toEqual(['"progress":1', '"progress":2'])
  })

  const lost = (id: number, args: object): RequestMessage => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: {
      name: 'stubborn',
      arguments: { key: crypto.randomUUID(), ...args },
      _meta: { progressToken: `of ${id}` },
    },
  })
  const steps = (frames: readonly string[]) =>
    frames.flatMap((frame) => {
      const [, token, step] = /"progressToken":"of (\d)","progress":(\d+)/.exec(frame) ?? []
      return step ? [`${token}: ${step}`] : []
    })

  test.each([
    ['closed its stream first', { away: true }, ['1: 1', '1: 2']],
    ['sent more notifications than are stored', { steps: 1100 }, ['1: 1099', '1: 1100', '1: 1101']],
  ])('and that %s, repeats no notifications', async (_, args, heard) => {
    const stub = session()
    await postTo(stub, { ...post(''), messages: [lost(1, args)] })
    await evictDurableObject(stub)
    const relay = await open(stub, 'stream=1')
    expect(await relay.closed).toBe(1000)
    expect(steps(relay.frames).slice(-3)).toEqual(heard)
  })

  test('and that notified of a completed URL elicitation, does not repeat the notification', async () => {
    const stub = session()
    const handshake = { ...post('').handshake, capabilities: { elicitation: { url: {} } } } as Post['handshake']
    expect(await postTo(stub, { ...call('ask_url_twice'), handshake })).toEqual({ stream: 1 })
    const answer = { jsonrpc: '2.0' as const, id: 'ask-1', result: { action: 'accept' } }
    await postTo(stub, { ...post(''), handshake, messages: [answer] })
    await evictDurableObject(stub)
    const relay = await open(stub, 'stream=1')
    expect(await relay.closed).toBe(1000)
    expect(relay.frames.join('')).toContain('"text":"done"')
    expect(relay.frames.filter((frame) => frame.includes('notifications/elicitation/complete'))).toHaveLength(1)
  })

  test('before another call of its batch, repeats no notifications and omits none', async () => {
    const stub = session()
    const handshake = { ...post('').handshake, version: '2025-03-26' } as Post['handshake']
    await postTo(stub, {
      ...post(''),
      handshake,
      batch: true,
      messages: [lost(1, { steps: 3 }), lost(2, { steps: 1 })],
    })
    await evictDurableObject(stub)
    // The second call starts here, and is lost, too.
    const lostAgain = await open(stub, 'stream=1')
    await vi.waitFor(() => expect(steps(lostAgain.frames)).toContain('2: 1'))
    await evictDurableObject(stub)
    const relay = await open(stub, 'stream=1')
    expect(await relay.closed).toBe(1000)
    expect(steps(relay.frames).toSorted()).toEqual(['1: 1', '1: 2', '1: 3', '1: 4', '2: 1', '2: 2'])
  })

  test('over HTTP+SSE repeats no notifications that the stream already sent', async () => {
    const stub = session()
    const relay = await open(stub, 'sse=1')
    const hello = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    await postTo(stub, post('initialize', hello, { handshake: undefined }))
    const said = (id: number) => vi.waitFor(() => expect(relay.frames.join('')).toContain(`"id":${id},"result"`))
    await said(1)
    const over = (message: RequestMessage) => postTo(stub, { ...post(''), handshake: undefined, messages: [message] })
    const { params } = lost(2, { steps: 5 })
    await over({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { ...params, name: 'progress' } })
    await said(2)
    await over(lost(3, { steps: 2 }))
    await vi.waitFor(() => expect(steps(relay.frames)).toHaveLength(7))
    await evictDurableObject(stub, { webSockets: 'hibernate' })
    await postTo(stub, { ...post('ping'), handshake: undefined, messages: [{ jsonrpc: '2.0', id: 4, method: 'ping' }] })
    await said(3)
    expect(steps(relay.frames).slice(5)).toEqual(['3: 1', '3: 2', '3: 3'])
    relay.socket?.close(4000)
  })

  test('over HTTP+SSE ends once it was acknowledged, also if it had sent nothing', async () => {
    const stub = session()
    const relay = await open(stub, 'sse=1')
    const hello = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    await postTo(stub, post('initialize', hello, { handshake: undefined }))
    await vi.waitFor(() => expect(relay.frames).toHaveLength(1))
    expect(await postTo(stub, postOf([lost(2, { steps: 0 })], { handshake: undefined }))).toEqual({ status: 202 })
    await evictDurableObject(stub, { webSockets: 'hibernate' })
    await postTo(stub, post('ping', {}, { handshake: undefined }))
    await vi.waitFor(() => expect(relay.frames.join('')).toContain('"id":2,"result"'))
    expect(relay.frames.join('')).toContain('run 2')
    relay.socket?.close(4000)
  })

  test('ends with an error when the tool is not safe to retry', async () => {
    const stub = session()
    expect(await postTo(stub, streamed('wait', crypto.randomUUID()))).toEqual({ stream: 1 })
    await evictDurableObject(stub)
    const relay = await open(stub, 'after=1.1')
    expect(await relay.closed).toBe(1000)
    expect(relay.frames).toEqual([
      'id: 1.2\ndata: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"The call was interrupted",' +
        '"data":{"reason":"interrupted","retryable":false}}}\n\n',
    ])
    // The id is free again.
    expect(await postTo(stub, call('echo', { text: 'hi' }))).toMatchObject({ status: 200 })
  })

  test('is ended by the alarm when no client reconnects', async () => {
    const stub = session()
    await postTo(stub, streamed('wait', crypto.randomUUID()))
    await evictDurableObject(stub)
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    const relay = await open(stub, 'after=1.1')
    await relay.closed
    expect(relay.frames.join('')).toContain('interrupted')
  })

  test('ends with an error when its principal is not stored', async () => {
    const stub = session()
    const principal = { issuer: 'https://issuer.example', subject: 'ada', scopes: [], claims: {} }
    await postTo(stub, { ...streamed('stubborn', crypto.randomUUID()), principal })
    await evictDurableObject(stub)
    const relay = await open(stub, 'after=1.1')
    await relay.closed
    expect(relay.frames.join('')).toContain('"data":{"reason":"interrupted","retryable":true}')
  })

  test('has no row after it ended', async () => {
    const stub = session()
    await postTo(stub, streamed('progress', ''))
    await postTo(stub, post('tools/call', { name: 'progress', arguments: { steps: 2 }, _meta: { progressToken: 'p' } }))
    const rows = await runInDurableObject(stub, (_, state) => state.storage.sql.exec('SELECT * FROM calls').toArray())
    expect(rows).toEqual([])
  })
})

describe('a session that ends or expires', () => {
  test('has ended for a change that it receives while it looks up its subscription', async () => {
    const stub = session()
    await open(stub, '')
    const deliver = () => stub.changed({ list: 'tools' }, undefined, undefined, undefined, ['tools'])
    expect(await deliver()).toBe(true)
    expect(await Promise.all([deliver(), stub.end(Date.now() + week)])).toEqual([false, true])
  })

  test('keeps a tombstone until its id expires, and then no data', async () => {
    const stub = session()
    await postTo(stub, post('logging/setLevel', { level: 'debug' }))
    await postTo(stub, call('progress', { steps: 1 }))
    expect(await stub.end(Date.now() + week)).toBe(true)
    expect(await stub.end(Date.now() + week)).toBe(false)
    expect(await postTo(stub, post('ping'))).toEqual({ gone: true })
    for (const topics of [undefined, ['tools']]) {
      expect(await stub.changed({ list: 'tools' }, undefined, undefined, undefined, topics)).toBe(false)
    }
    expect((await open(stub, '')).status).toBe(404)
    expect(await tablesOf(stub)).toEqual([])
    expect(await valuesOf(stub)).toEqual(['ended'])
    await evictDurableObject(stub)
    await runInDurableObject(stub, (_, state) => state.storage.kv.put('ended', Date.now() - 1))
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(await valuesOf(stub)).toEqual([])
    expect(await alarmOf(stub)).toBeNull()
  })

  test('answers the calls that were running, and stores no data for them', async () => {
    const stub = session()
    const silent = postTo(stub, call('wait', { key: crypto.randomUUID() }))
    expect(await stub.end(Date.now() + week)).toBe(true)
    expect(await silent).toEqual({ gone: true })
    expect(await tablesOf(stub)).toEqual([])
    expect(await valuesOf(stub)).toEqual(['ended'])
  })

  test('ignores a handler that continues', async () => {
    for (const [how, said] of [
      ['state', 'McpError: The session has ended'],
      ['disconnect', 'went on'],
    ]) {
      const stub = session()
      const silent = postTo(stub, call('cling', { how }))
      expect(await stub.end(Date.now() + week)).toBe(true)
      expect(await silent).toEqual({ gone: true })
      const stub2 = session()
      await vi.waitFor(async () => expect(JSON.stringify(await postTo(stub2, call('clung')))).toContain(said))
      expect(await tablesOf(stub)).toEqual([])
      expect(await valuesOf(stub)).toEqual(['ended'])
    }
  })

  test('ignores a subscription that was in progress', async () => {
    const stub = session()
    await postTo(stub, call('slow', { on: true }))
    const subscribing = postTo(stub, post('resources/subscribe', { uri: 'slow://1' }))
    expect(await stub.end(Date.now() + week)).toBe(true)
    expect(await subscribing).toEqual({ gone: true })
    await scheduler.wait(100)
    await postTo(session(), call('slow', { on: false }))
    expect(await valuesOf(stub)).toEqual(['ended'])
    const updates = (exports as unknown as { McpSubscriptions: { getByName(name: string): DurableObjectStub } })
      .McpSubscriptions
    const rows = await runInDurableObject(updates.getByName('subscriptions 0'), (_, { storage: { sql } }) =>
      sql.exec("SELECT * FROM subscriptions WHERE topic = 'resource:slow://1'").toArray(),
    )
    expect(rows).toEqual([])
  })

  test.each([
    ['a stream', [call('progress', { steps: 1 }), { ...call('progress', { steps: 1 }), streams: false }]],
    [
      'a call that took a while',
      [post('tools/call', { name: 'progress', arguments: { steps: 2 }, _meta: { progressToken: 'p' } })],
    ],
  ] as [string, Post[]][])('has no data when it expired after %s and a day without a request', async (_, posts) => {
    const stub = session()
    for (const each of posts) await postTo(stub, each)
    const relay = await open(stub, '')
    relay.socket?.close(4000)
    await lapse(stub)
    expect(await tablesOf(stub)).toEqual([])
    expect(await valuesOf(stub)).toEqual([])
    expect(await alarmOf(stub)).toBeNull()
    // Nothing was lost, so its id may be used again: by an instance that watches over what it stores.
    await postTo(stub, post('logging/setLevel', { level: 'debug' }))
    expect(await alarmOf(stub)).toBeGreaterThan(Date.now())
  })

  test.each([
    ['a log level', post('logging/setLevel', { level: 'debug' })],
    ['an open input request', call('ask_name')],
  ])('without revive keeps a tombstone when it expired with %s that its client would miss', async (_, request) => {
    const stub = strictSession()
    await postTo(stub, request)
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(
      await postTo(stub, {
        ...post('ping'),
        messages: [{ jsonrpc: '2.0', id: 9, method: 'ping' }],
      }),
    ).toMatchObject({
      status: 200,
    })
    await lapse(stub)
    expect(await postTo(stub, post('ping'))).toEqual({ gone: true })
    expect(await tablesOf(stub)).toEqual([])
    expect(await valuesOf(stub)).toEqual(['ended'])
  })

  test.each([['together with'], ['some time after']])(
    'without revive keeps a tombstone when it expired %s the unnoticed timeout of an input request',
    async (when) => {
      const stub = strictSession()
      await postTo(stub, call('ask_name'))
      await evictDurableObject(stub)
      await runInDurableObject(stub, (_, { storage: { sql } }) => sql.exec('UPDATE calls SET due = 1'))
      if (when === 'some time after') expect(await runDurableObjectAlarm(stub)).toBe(true)
      await lapse(stub)
      expect(await postTo(stub, post('ping'))).toEqual({ gone: true })
      expect(await valuesOf(stub)).toEqual(['ended'])
    },
  )

  test('does not reuse its ids after a deployment has raised sessions.ttl', async () => {
    const stub = session()
    const expires = Date.now() + week
    const hour = 60 * 60_000
    const asking = { ...call('ask_name'), expires }
    // As before the deployment.
    const hourly = await runInDurableObject(stub, async (_, context) => {
      const object = new HourlySession(context, {} as never)
      expect(await postTo(object, asking)).toEqual({ stream: 1 })
      return object
    })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * hour })
    await runInDurableObject(stub, () => hourly.alarm())
    await evictDurableObject(stub)
    expect(await valuesOf(stub)).toEqual([])

    const { stream } = (await postTo(stub, asking)) as { stream: number }
    expect(stream).toBeGreaterThan(1)
    expect((await open(stub, 'after=1.0')).status).toBe(400)
    const relay = await open(stub, `stream=${stream}`)
    await vi.waitFor(() => expect(relay.frames.join('')).toContain('elicitation/create'))
    const late = { jsonrpc: '2.0' as const, id: 'ask-1', result: { action: 'accept', content: { name: 'Ada' } } }
    expect(await postTo(stub, { ...asking, messages: [late] })).toEqual({ status: 202 })
    expect(relay.frames.join('')).not.toContain('Ada')
    relay.socket?.close(4000)
  })

  test('continues its ids an hour after its first stream, however late the next one opens', async () => {
    const stub = session()
    const expires = Date.now() + week
    expect(await postTo(stub, { ...call('ask_name'), expires })).toEqual({ stream: 1 })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60 * 60_000 })
    expect(
      await postTo(stub, {
        ...call('ask_name'),
        expires,
        messages: [{ ...call('ask_name').messages[0], id: 2 } as RequestMessage],
      }),
    ).toEqual({ stream: 2 })
    const standing = await open(stub, '')
    await stub.changed({ list: 'tools' })
    await vi.waitFor(() => expect(standing.frames.join('')).toContain('tools/list_changed'))
    expect(standing.frames[0]).toContain('id: 0.1\n')
    expect(standing.frames).toHaveLength(1)
    standing.socket?.close(4000)
  })

  test('does not reuse its stream and input request ids when it continues after its expiry', async () => {
    const stub = session()
    const expires = Date.now() + week
    const answer = (id: string, name: string) =>
      ({ jsonrpc: '2.0', id, result: { action: 'accept', content: { name } } }) as const
    const asking = { ...call('ask_name'), expires }
    /** Asks, and returns the id of the input request, that of its call, and those of the events of the stream. */
    const live = async (name: string) => {
      const posted = (await postTo(stub, asking)) as { stream: number }
      const relay = await open(stub, `stream=${posted.stream}`)
      await vi.waitFor(() => expect(relay.frames.join('')).toContain('elicitation/create'))
      const id = /"id":"(ask-\d+)"/.exec(relay.frames.join(''))?.[1] as string
      const [row] = await runInDurableObject(stub, (_, { storage: { sql } }) =>
        sql.exec('SELECT id FROM calls').toArray(),
      )
      return { id, name, relay, start: `${posted.stream}.0`, row: row?.id }
    }
    const first = await live('Ada')
    const standing = await open(stub, '')
    await stub.changed({ list: 'tools' })
    await vi.waitFor(() => expect(standing.frames).toHaveLength(1))
    const [last] = /(?<=id: )\S+/.exec(standing.frames[0] as string) as unknown as [string]
    standing.socket?.close(4000)
    await postTo(stub, { ...asking, messages: [answer(first.id, 'Ada')] })
    await first.relay.closed
    await lapse(stub)
    expect(await valuesOf(stub)).toEqual([])

    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 25 * 60 * 60_000 })
    try {
      const second = await live('Eve')
      // The default `elicitationId` contains it.
      expect(second.row).not.toBe(first.row)
      const again = await open(stub, '')
      for (let sent = 1; sent <= 2; sent += 1) await stub.changed({ list: 'tools' })
      // The changes of the three lists come first: its client knows them as they were in the first life.
      await vi.waitFor(() => expect(again.frames).toHaveLength(3 + 2))
      for (const after of [first.start, last]) expect((await open(stub, `after=${after}`)).status, after).toBe(400)
      await postTo(stub, { ...asking, messages: [answer(first.id, 'late')] })
      await postTo(stub, { ...asking, messages: [answer(second.id, 'Eve')] })
      await second.relay.closed
      expect(second.relay.frames.join('')).toContain('Hello, Eve!')
      const [resumed, whole] = [await open(stub, `after=${again.start}`), await open(stub, `after=${second.start}`)]
      await vi.waitFor(() => expect(resumed.frames).toEqual(again.frames))
      await whole.closed
      expect(whole.frames).toEqual(second.relay.frames)
      resumed.socket?.close(4000)
    } finally {
      vi.useRealTimers()
    }
  })

  test('does not expire while a client has a stream open, and checks again a day later', async () => {
    const stub = session()
    const relay = await open(stub, '')
    await evictDurableObject(stub, { webSockets: 'hibernate' })
    await runInDurableObject(stub, (_, state) => state.storage.kv.put('lastSeenAt', Date.now() - 25 * 60 * 60_000))
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(await alarmOf(stub)).toBeGreaterThan(Date.now() + 23 * 60 * 60_000)
    await stub.changed({ list: 'tools' })
    await vi.waitFor(() => expect(relay.frames).toHaveLength(1))
    relay.socket?.close(4000)
  })

  test('does not expire a day after its last request if its stream was open since', async () => {
    const stub = session()
    await postTo(stub, post('logging/setLevel', { level: 'debug' }))
    const relay = await open(stub, '')
    await evictDurableObject(stub, { webSockets: 'hibernate' })
    await runInDurableObject(stub, (_, state) => state.storage.kv.put('lastSeenAt', Date.now() - 3 * 24 * 60 * 60_000))
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    const closing = Date.now() - 2
    relay.socket?.close(4000)
    await vi.waitFor(() =>
      runInDurableObject(stub, (_, state) =>
        expect(state.storage.kv.get('lastSeenAt')).toBeGreaterThan(closing - 1000),
      ),
    )
    await evictDurableObject(stub)
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(await valuesOf(stub)).toContain('logLevel')
  })

  test.each([0.03, 0.24, 0.9])(
    'does not expire within a day of a request %d days after the last stored one',
    async (days) => {
      const stub = session()
      const day = 24 * 60 * 60_000
      await postTo(stub, post('logging/setLevel', { level: 'debug' }))
      const usedAt = Date.now() + days * day
      vi.useFakeTimers({ toFake: ['Date'], now: usedAt })
      await postTo(stub, post('ping'))
      await evictDurableObject(stub)
      vi.setSystemTime(usedAt + day - 1000)
      expect(await runDurableObjectAlarm(stub)).toBe(true)
      expect(await valuesOf(stub)).toContain('logLevel')
      await evictDurableObject(stub)
      vi.setSystemTime(usedAt + day + 61 * 60_000)
      expect(await runDurableObjectAlarm(stub)).toBe(true)
      expect(await valuesOf(stub)).toEqual([])
    },
  )

  test('whose alarm was lost has one again after its next request', async () => {
    const day = 24 * 60 * 60_000
    const stub = session()
    await postTo(stub, post('logging/setLevel', { level: 'debug' }))
    // The platform gives an alarm up that has failed six times.
    await runInDurableObject(stub, (_, { storage }) => storage.deleteAlarm())
    await evictDurableObject(stub)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * day })
    await postTo(stub, post('ping'))
    await vi.waitFor(async () => expect(await alarmOf(stub)).toBeGreaterThanOrEqual(Date.now() + day))
    vi.setSystemTime(Date.now() + 2 * day)
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(await valuesOf(stub)).toEqual([])
  })

  test('does not expire within a shortened sessions.ttl of a request that was not stored under the longer one', async () => {
    const day = 24 * 60 * 60_000
    const stub = session()
    const usedAt = Date.now() + day / 10
    // As before the deployment.
    await runInDurableObject(stub, async (_, context) => {
      const object = new LongSession(context, {} as never)
      await postTo(object, post('logging/setLevel', { level: 'debug' }))
      vi.useFakeTimers({ toFake: ['Date'], now: usedAt })
      await postTo(object, post('ping'))
    })
    await evictDurableObject(stub)
    vi.setSystemTime(usedAt + day - 1000)
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(await valuesOf(stub)).toContain('logLevel')
  })

  test.each([
    ['with an alarm meanwhile', 1],
    ['also when no alarm has come meanwhile', 0],
  ])('does not expire within sessions.ttl of the end of a longer stream, %s', async (_, alarms) => {
    const day = 24 * 60 * 60_000
    const stub = session()
    await postTo(stub, post('logging/setLevel', { level: 'debug' }))
    const { socket } = await open(stub, '')
    const openedAt = Date.now()
    try {
      vi.useFakeTimers({ toFake: ['Date'], now: openedAt + 2 * day })
      for (let alarm = 0; alarm < alarms; alarm += 1) expect(await runDurableObjectAlarm(stub)).toBe(true)
      vi.setSystemTime(openedAt + 2.9 * day)
      socket?.close(4000)
      await vi.waitFor(async () => expect(await socketsOf(stub)).toBe(0))
      vi.setSystemTime(openedAt + 3.8 * day)
      expect(await runDurableObjectAlarm(stub)).toBe(true)
      expect(await valuesOf(stub)).toContain('logLevel')
      vi.setSystemTime(openedAt + 4.9 * day)
      expect(await runDurableObjectAlarm(stub)).toBe(true)
      expect(await valuesOf(stub)).toEqual([])
    } finally {
      vi.useRealTimers()
    }
  })

  test('does not expire within sessions.ttl of its stream when its object and its Worker are lost together', async () => {
    const day = 24 * 60 * 60_000
    const stub = session()
    await postTo(stub, post('logging/setLevel', { level: 'debug' }))
    await open(stub, '')
    const openedAt = Date.now()
    // No close of the socket reaches the session.
    const lost = runInDurableObject(stub, (_, state) => state.abort('lost'))
    await expect(lost).rejects.toThrow('lost')
    const next = namespace.getByName(String(stub.name))
    try {
      vi.useFakeTimers({ toFake: ['Date'], now: openedAt + day + day / 12 })
      expect(await runDurableObjectAlarm(next)).toBe(true)
      expect(await valuesOf(next)).toContain('logLevel')
      vi.setSystemTime(openedAt + 2 * day + day / 6)
      expect(await runDurableObjectAlarm(next)).toBe(true)
      expect(await valuesOf(next)).toEqual([])
    } finally {
      vi.useRealTimers()
    }
  })

  test('expires, however long one of its calls runs', async () => {
    const stub = strictSession()
    const forever = { name: 'wait', arguments: { key: crypto.randomUUID() }, _meta: { progressToken: 'p' } }
    expect(await postTo(stub, post('tools/call', forever))).toEqual({ stream: 1 })
    // By the time of the answer, the session knows that nobody reads the body.
    await alarmOf(stub)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 25 * 60 * 60_000 })
    try {
      expect(await runDurableObjectAlarm(stub)).toBe(true)
    } finally {
      vi.useRealTimers()
    }
    expect(await tablesOf(stub)).toEqual([])
    // A call was without its answer.
    expect(await valuesOf(stub)).toEqual(['ended'])
  })

  test('over HTTP+SSE has no data, and stays ended', async () => {
    const stub = session()
    const relay = await open(stub, 'sse=1')
    const hello = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    expect(await postTo(stub, post('initialize', hello, { handshake: undefined }))).toEqual({ status: 202 })
    relay.socket?.close(4000)
    await vi.waitFor(async () => expect(await valuesOf(stub)).toEqual([]))
    expect(await tablesOf(stub)).toEqual([])
    expect(await alarmOf(stub)).toBeNull()
    expect(await postTo(stub, post('ping', {}, { handshake: undefined }))).toEqual({ gone: true })
    expect(await valuesOf(stub)).toEqual([])
  })
})

describe('a session over HTTP+SSE whose stream was lost', () => {
  const begin = async () => {
    const stub = session()
    const relay = await open(stub, 'sse=1')
    const hello = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    await postTo(stub, post('initialize', hello, { handshake: undefined }))
    await vi.waitFor(() => expect(relay.frames).toHaveLength(1))
    relay.socket?.close(4003)
    await vi.waitFor(async () => expect(await alarmOf(stub)).toBeLessThan(Date.now() + 6 * 60_000))
    return stub
  }

  test('continues when the stream is resumed', async () => {
    const stub = await begin()
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    const again = await open(stub, 'sse=1&after=0.1')
    await postTo(stub, post('ping', {}, { handshake: undefined }))
    await vi.waitFor(() => expect(again.frames.join('')).toContain('"result":{}'))
    again.socket?.close(4000)
    await vi.waitFor(async () => expect(await valuesOf(stub)).toEqual([]))
  })

  test('ends when the stream is not resumed in time', async () => {
    const stub = await begin()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 6 * 60_000 })
    try {
      expect(await runDurableObjectAlarm(stub)).toBe(true)
    } finally {
      vi.useRealTimers()
    }
    expect(await valuesOf(stub)).toEqual([])
    expect(await alarmOf(stub)).toBeNull()
  })

  test('ends when the stream is not resumed in time, although its object is evicted meanwhile', async () => {
    const stub = await begin()
    const lostAt = Date.now()
    for (const minutes of [1, 3]) {
      await evictDurableObject(stub)
      vi.useFakeTimers({ toFake: ['Date'], now: lostAt + minutes * 60_000 })
      expect(await runDurableObjectAlarm(stub)).toBe(true)
      expect(await alarmOf(stub)).toBeLessThan(lostAt + 6 * 60_000)
    }
    await evictDurableObject(stub)
    vi.setSystemTime(lostAt + 6 * 60_000)
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(await valuesOf(stub)).toEqual([])
    expect(await alarmOf(stub)).toBeNull()
  })

  test('ends five minutes after an alarm has found no stream, although its object is evicted meanwhile', async () => {
    const stub = session()
    await open(stub, 'sse=1')
    const alarms = [0, 6 * 60_000].map((ms) => Date.now() + ms)
    for (const now of alarms) {
      await evictDurableObject(stub, { webSockets: 'close' })
      vi.useFakeTimers({ toFake: ['Date'], now })
      expect(await runDurableObjectAlarm(stub)).toBe(true)
    }
    expect(await valuesOf(stub)).toEqual([])
  })

  test('has five minutes again after the stream was resumed', async () => {
    const stub = await begin()
    const again = await open(stub, 'sse=1&after=0.1')
    expect(await valuesOf(stub)).not.toContain('sseDisconnectedAt')
    const lostAt = Date.now() + 4 * 60_000
    vi.useFakeTimers({ toFake: ['Date'], now: lostAt })
    again.socket?.close(4003)
    await vi.waitFor(async () => expect(await valuesOf(stub)).toContain('sseDisconnectedAt'))
    await evictDurableObject(stub)
    vi.setSystemTime(lostAt + 4 * 60_000)
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(await valuesOf(stub)).toContain('handshake')
  })

  test('ends when the stream is not resumed in time, also without any message', async () => {
    const stub = session()
    await open(stub, 'sse=1')
    await evictDurableObject(stub, { webSockets: 'close' })
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(await alarmOf(stub)).toBeLessThan(Date.now() + 6 * 60_000)
  })

  test('ends when the stream cannot be resumed without a gap', async () => {
    const stub = await begin()
    expect((await open(stub, 'sse=1&after=0.9')).status).toBe(400)
    expect(await valuesOf(stub)).toEqual([])
    expect(await alarmOf(stub)).toBeNull()
  })
})

/** A day goes by without a request. */
async function lapse(stub: Stub): Promise<void> {
  await evictDurableObject(stub)
  await runInDurableObject(stub, (_, state) => state.storage.kv.put('lastSeenAt', Date.now() - 25 * 60 * 60_000))
  expect(await runDurableObjectAlarm(stub)).toBe(true)
}

test('roots above the size limit of a stored value are given to their call, and not stored', async () => {
  const stub = session()
  const handshake = {
    version: '2025-11-25',
    capabilities: { roots: { listChanged: true } },
    client: { name: 'test', version: '1' },
  }
  const asks = { ...call('ask_roots'), handshake }
  const answer = (id: string, uri: string) => ({ jsonrpc: '2.0', id, result: { roots: [{ uri }] } }) as const
  // One character beyond Latin-1 makes every character take two bytes.
  const large = `file:///ж${'x'.repeat(1_500_000)}`
  for (const [stream, uri, isStored] of [
    [1, 'file:///a', true],
    [2, large, false],
  ] as const) {
    expect(await postTo(stub, asks)).toEqual({ stream })
    const relay = await open(stub, `stream=${stream}`)
    await postTo(stub, { ...asks, messages: [answer(`ask-${stream}`, uri)] })
    expect(await relay.closed).toBe(1000)
    expect(relay.frames.join('')).toContain(uri)
    expect((await valuesOf(stub)).includes('roots'), uri.slice(0, 20)).toBe(isStored)
    const params = { messages: [{ jsonrpc: '2.0' as const, method: 'notifications/roots/list_changed' }] }
    if (isStored) await postTo(stub, { ...asks, ...params })
  }
})

test('roots that arrive before the other input responses of their call are not requested again', async () => {
  const stub = session()
  const handshake = {
    version: '2025-11-25',
    capabilities: { roots: { listChanged: true }, elicitation: {} },
    client: { name: 'test', version: '1' },
  }
  const asks = { ...call('ask_roots_and_name'), handshake }
  const answer = (id: string, result: object) =>
    postTo(stub, { ...asks, messages: [{ jsonrpc: '2.0', id, result } as Message] })
  /** The ids of what is asked on a stream, by method. */
  const questionsOn = async (stream: number, count: number) => {
    const relay = await open(stub, `stream=${stream}`)
    const questions = () => relay.frames.map((frame) => JSON.parse(frame.split('data: ')[1] ?? '{}'))
    await vi.waitFor(() => expect(questions()).toHaveLength(count))
    const ids: Record<string, string> = Object.fromEntries(questions().map(({ method, id }) => [method, id]))
    return { relay, ids }
  }
  const named = { action: 'accept', content: { name: 'Ada' } }

  expect(await postTo(stub, asks)).toEqual({ stream: 1 })
  const first = await questionsOn(1, 2)
  await answer(first.ids['roots/list'] as string, { roots: [{ uri: 'file:///a' }] })
  // What another answer says besides is no list of roots.
  await answer(first.ids['elicitation/create'] as string, { ...named, roots: [{ uri: 'file:///b' }] })
  expect(await first.relay.closed).toBe(1000)
  expect(first.relay.frames.at(-1)).toContain('Ada in file:///a')

  expect(await postTo(stub, asks)).toEqual({ stream: 2 })
  const second = await questionsOn(2, 1)
  await answer(second.ids['elicitation/create'] as string, named)
  expect(await second.relay.closed).toBe(1000)
  expect(second.relay.frames.at(-1)).toContain('Ada in file:///a')
})

test('the id of a running request is refused', async () => {
  const stub = session()
  await postTo(stub, call('ask_name'))
  const again = await postTo(stub, call('echo', { text: 'hi' }))
  expect(again).toMatchObject({ status: 400, text: expect.stringContaining('is in use by a request in progress') })
})
