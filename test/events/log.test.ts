/** The log of an event: poll, streams, and what a subscription missed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventStreamReader } from '../../worker/client/event-stream-reader.ts'
import { connect } from '../../worker/testing/index.ts'
import { evict } from '../support/objects.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { statelessHeaders } from '../support/stateless.ts'
import { Internet, Receiver } from './receivers.ts'

const internet = new Internet()
let server: TestServer
beforeAll(async () => {
  server = await startServer('test/events/server', {}, (request) => internet.answer(request))
})
afterAll(() => server[Symbol.asyncDispose]())

type Fields = Record<string, unknown>
type Page = { events: Fields[]; cursor: string; truncated: boolean; hasMore: boolean; nextPollMs: number }

const headersOf = (user: string | undefined) =>
  user === undefined
    ? undefined
    : { Authorization: `Bearer ${JSON.stringify({ issuer: 'https://idp.example', subject: user })}` }
const clientOf = (user: string | undefined, revision = '2026-07-28') =>
  connect(server.url, { revision, headers: headersOf(user) })

async function publish(
  shop: string,
  total: number,
  recipients: object = { everyone: true },
  name = 'order.paid',
): Promise<string> {
  const body = JSON.stringify({ name, payload: { shop, total }, recipients, options: {} })
  const response = await fetch(new URL('/publish', server.url), { method: 'POST', body })
  return (await response.json()) as string
}

const userOf = (subject: string, tenant?: string) => ({ user: { issuer: 'https://idp.example', subject, tenant } })

async function poll(user: string | undefined, params: Fields, revision?: string): Promise<Page> {
  await using client = await clientOf(user, revision)
  return (await client.request('events/poll', { name: 'order.paid', ...params })) as Page
}

const totals = (events: readonly Fields[]) => events.map(({ data }) => Object(data).total)

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** The notifications of a stream of 2026-07-28, as they come. */
class Stream {
  static #ids = 0
  readonly id = ++Stream.#ids
  readonly #leaving = new AbortController()
  readonly #messages: AsyncGenerator<Fields>

  constructor(user: string | undefined, params: Fields) {
    this.#messages = this.#open(user, params)
  }

  async next(): Promise<Fields> {
    const { value } = await this.#messages.next()
    return value
  }

  async nextEvents(count: number): Promise<Fields[]> {
    const events: Fields[] = []
    while (events.length < count) {
      const { method, params } = await this.next()
      if (method === 'notifications/events/event') events.push(Object(params))
    }
    return events
  }

  close(): void {
    this.#leaving.abort()
  }

  async *#open(user: string | undefined, params: Fields): AsyncGenerator<Fields> {
    const { id } = this
    const body = { jsonrpc: '2.0', id, method: 'events/stream', params: { name: 'order.paid', ...params, _meta: meta } }
    const response = await fetch(server.url, {
      method: 'POST',
      headers: { ...statelessHeaders('events/stream'), ...headersOf(user) },
      body: JSON.stringify(body),
      signal: this.#leaving.signal,
    })
    if (response.headers.get('Content-Type') === 'application/json') {
      yield (await response.json()) as Fields
      return
    }
    const reader = new EventStreamReader()
    for await (const bytes of response.body ?? []) {
      for (const { data } of reader.read(bytes)) if (data) yield JSON.parse(data)
    }
  }
}

describe('poll', () => {
  test('a client begins now, and then receives what was published, once', async () => {
    const shop = 'polled'
    await publish(shop, 1)
    const first = await poll('ann', { arguments: { shop }, cursor: null })
    expect(first).toMatchObject({
      events: [],
      cursor: expect.stringMatching(/^\d+$/),
      truncated: false,
      hasMore: false,
      nextPollMs: 10_000,
    })
    const ids = [await publish(shop, 2), await publish('another', 3), await publish(shop, 4)]
    const second = await poll('ann', { arguments: { shop }, cursor: first.cursor })
    expect(second.events).toEqual([
      { eventId: ids[0], name: 'order.paid', timestamp: expect.any(String), data: { shop, total: 2 } },
      { eventId: ids[2], name: 'order.paid', timestamp: expect.any(String), data: { shop, total: 4 } },
    ])
    expect(second).toMatchObject({ truncated: false, hasMore: false })
    expect((await poll('ann', { arguments: { shop }, cursor: second.cursor })).events).toEqual([])
  })

  test.each(['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])('works in %s', async (revision) => {
    const shop = `polled in ${revision}`
    const { cursor } = await poll('ann', { arguments: { shop } }, revision)
    await publish(shop, 5)
    expect(totals((await poll('ann', { arguments: { shop }, cursor }, revision)).events)).toEqual([5])
  })

  test('a cursor that a client got before the first event has it', async () => {
    await using client = await clientOf('ann')
    const first = (await client.request('events/poll', { name: 'note.saved', cursor: null })) as Page
    const body = JSON.stringify({
      name: 'note.saved',
      payload: { id: '1' },
      recipients: { everyone: true },
      options: {},
    })
    await fetch(new URL('/publish', server.url), { method: 'POST', body })
    const next = (await client.request('events/poll', { name: 'note.saved', cursor: first.cursor })) as Page
    expect(next.events).toMatchObject([{ data: { id: '1' } }])
  })

  test('pages have at most maxEvents events, and say that there are more', async () => {
    const shop = 'pages'
    let { cursor } = await poll('ann', { arguments: { shop } })
    for (let total = 1; total <= 5; total += 1) await publish(shop, total)
    const pages: unknown[] = []
    for (let hasMore = true; hasMore; ) {
      const page = await poll('ann', { arguments: { shop }, cursor, maxEvents: 2 })
      pages.push(totals(page.events))
      ;({ cursor, hasMore } = page)
    }
    expect(pages).toEqual([[1, 2], [3, 4], [5]])
  })

  test('nobody receives the events of others', async () => {
    const shop = 'private'
    const { cursor } = await poll('ann', { arguments: { shop } })
    await publish(shop, 1, userOf('ann'))
    await publish(shop, 2, userOf('ann', 'acme'))
    await publish(shop, 3, { tenant: { issuer: 'https://idp.example', tenant: 'acme' } })
    await publish(shop, 4)
    const seen = async (user: string | undefined) => totals((await poll(user, { arguments: { shop }, cursor })).events)
    expect(await seen('ann')).toEqual([1, 4])
    expect(await seen('bob')).toEqual([4])
    expect(await seen(undefined)).toEqual([4])
  })

  test('maxAgeMs skips older events, and an unknown cursor all, and both say so', async () => {
    const shop = 'aged'
    const { cursor } = await poll('ann', { arguments: { shop } })
    await publish(shop, 1)
    expect(await poll('ann', { arguments: { shop }, cursor, maxAgeMs: 0 })).toMatchObject({
      truncated: true,
      events: [],
    })
    expect(await poll('ann', { arguments: { shop }, cursor, maxAgeMs: 60_000 })).toMatchObject({ truncated: false })
    const old = await poll('ann', { arguments: { shop }, cursor: '0', maxAgeMs: 1234.5678 })
    expect(await poll('ann', { arguments: { shop }, cursor: old.cursor })).toMatchObject({ truncated: false })
    for (const unknown of ['historyId_7', '9999999999999999', '']) {
      const page = await poll('ann', { arguments: { shop }, cursor: unknown })
      expect(page).toMatchObject({ truncated: true, events: [] })
      expect(Number(page.cursor)).toBeGreaterThanOrEqual(Number(cursor))
    }
  })

  test.each([
    [{ cursor: 7 }, 'cursor must be a string or null'],
    [{ maxAgeMs: -1 }, 'maxAgeMs must be a number of 0 or more'],
    [{ maxEvents: 0 }, 'maxEvents must be a number of 1 or more'],
    [{ arguments: {} }, 'Invalid arguments for event "order.paid"'],
  ])('invalid params are refused: %j', async (params, message) => {
    await expect(poll('ann', { arguments: { shop: 'tea' }, ...params })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(message),
    })
  })

  test('an event that a caller may not see is unknown', async () => {
    const read = { name: 'order.hidden', cursor: null }
    await expect(poll('ann', read)).rejects.toMatchObject({ code: -32011, data: { kind: 'event' } })
    await expect(poll('ann', { name: 'order.audited' })).rejects.toMatchObject({ code: expect.any(Number) })
  })

  test('the log survives the loss of its object', async () => {
    const shop = 'evicted'
    const { cursor } = await poll('ann', { arguments: { shop } })
    await publish(shop, 1)
    await evict(server, 'McpEvents', 'event order.paid', 'close')
    await publish(shop, 2)
    expect(totals((await poll('ann', { arguments: { shop }, cursor })).events)).toEqual([1, 2])
  })
})

describe('stream', () => {
  test('a stream begins with its cursor, and has each event in order, with the id of its request', async () => {
    const shop = 'streamed'
    const stream = new Stream('ann', { arguments: { shop }, cursor: null })
    const _meta = { 'io.modelcontextprotocol/subscriptionId': stream.id }
    expect(await stream.next()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/events/active',
      params: { cursor: expect.stringMatching(/^\d+$/), truncated: false, _meta },
    })
    const id = await publish(shop, 1)
    for (let total = 2; total <= 30; total += 1) await publish(total === 15 ? 'another' : shop, total)
    const events = await stream.nextEvents(29)
    expect(totals(events)).toEqual([...Array(30).keys()].map((total) => total + 1).filter((total) => total !== 15))
    expect(events[0]).toEqual({
      eventId: id,
      name: 'order.paid',
      timestamp: expect.any(String),
      data: { shop, total: 1 },
      cursor: expect.stringMatching(/^\d+$/),
      _meta,
    })
    stream.close()
  })

  test('a stream continues after a cursor, also of a poll', async () => {
    const shop = 'continued'
    const { cursor } = await poll('ann', { arguments: { shop } })
    await publish(shop, 1)
    await publish(shop, 2)
    const stream = new Stream('ann', { arguments: { shop }, cursor })
    const [first] = await stream.nextEvents(1)
    stream.close()
    const next = new Stream('ann', { arguments: { shop }, cursor: first?.cursor })
    expect(totals(await next.nextEvents(1))).toEqual([2])
    next.close()
  })

  test.each(['close', 'hibernate'] as const)(
    'a stream survives the loss of its object: sockets %s',
    async (sockets) => {
      const shop = `lost: ${sockets}`
      const stream = new Stream('ann', { arguments: { shop } })
      await stream.next()
      await publish(shop, 1)
      await evict(server, 'McpEvents', 'event order.paid', sockets)
      await publish(shop, 2)
      expect(totals(await stream.nextEvents(2))).toEqual([1, 2])
      stream.close()
    },
  )

  test('an unknown cursor begins now, and says so', async () => {
    const stream = new Stream('ann', { arguments: { shop: 'gap' }, cursor: 'historyId_7' })
    expect(await stream.next()).toMatchObject({ method: 'notifications/events/active', params: { truncated: true } })
    stream.close()
  })

  test('nobody receives the events of others', async () => {
    const shop = 'private stream'
    const streams = [new Stream('ann', { arguments: { shop } }), new Stream(undefined, { arguments: { shop } })]
    for (const stream of streams) await stream.next()
    await publish(shop, 1, userOf('bob'))
    await publish(shop, 2, userOf('ann'))
    await publish(shop, 3)
    const [own, anonymous] = streams
    expect(totals((await own?.nextEvents(2)) ?? [])).toEqual([2, 3])
    expect(totals((await anonymous?.nextEvents(1)) ?? [])).toEqual([3])
    for (const stream of streams) stream.close()
  })

  test('a slow client gets all of a long log', async () => {
    const shop = 'long'
    const { cursor } = await poll('ann', { arguments: { shop } })
    for (let total = 1; total <= 130; total += 1) await publish(shop, total)
    const stream = new Stream('ann', { arguments: { shop }, cursor })
    expect(totals(await stream.nextEvents(130))).toEqual([...Array(130).keys()].map((total) => total + 1))
    await publish(shop, 131)
    expect(totals(await stream.nextEvents(1))).toEqual([131])
    stream.close()
  })

  test('events for others, more than a page, do not hold up a client', async () => {
    const shop = 'x'.repeat(250_000)
    const { cursor } = await poll('ann', { arguments: { shop: 'small' } })
    for (let total = 1; total <= 5; total += 1) await publish(shop, total, userOf('bob'))
    await publish('small', 6)
    const stream = new Stream('ann', { arguments: { shop: 'small' }, cursor })
    expect(totals(await stream.nextEvents(1))).toEqual([6])
    stream.close()
  })

  test('a caller has at most 100 streams, also if none of them is read', async () => {
    const open = (subject: string, cursor: string | null) =>
      fetch(server.url, {
        method: 'POST',
        headers: {
          ...statelessHeaders('events/stream'),
          Authorization: `Bearer ${JSON.stringify({ subject, scopes: ['audit'] })}`,
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'events/stream',
          params: { name: 'order.audited', cursor, _meta: meta },
        }),
      })
    const cursor = `${(Date.now() - 60_000) * 1000}`
    for (let count = 1; count <= 6; count += 1) {
      const params = { name: 'order.audited', payload: { id: 'x'.repeat(240_000) }, recipients: { everyone: true } }
      await fetch(new URL('/publish', server.url), { method: 'POST', body: JSON.stringify(params) })
    }
    const responses: Response[] = []
    for (let count = 1; count <= 101; count += 1) responses.push(await open('many', cursor))
    expect(responses.map(({ status }) => status)).toEqual([...Array(100).fill(200), 429])
    const other = await open('few', null)
    expect(other.status).toBe(200)
    await Promise.all([...responses, other].map(({ body }) => body?.cancel()))
  })

  test('a caller and arguments that do not fit beside a socket are refused', async () => {
    const stream = new Stream('s'.repeat(7400), { arguments: { shop: '商'.repeat(100) }, cursor: null })
    expect(await stream.next()).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('poll instead') },
    })
  })

  test('an invalid request has an error, and no stream', async () => {
    const errorOf = async (params: Fields) => (await new Stream('ann', params).next()).error
    expect(await errorOf({ name: 'order.hidden' })).toMatchObject({ code: -32011 })
    expect(await errorOf({ arguments: {} })).toMatchObject({ code: -32602 })
    expect(await errorOf({ name: 'order.audited' })).toMatchObject({ message: 'Requires the scopes audit' })
  })

  test('earlier versions have no streams', async () => {
    await using client = await clientOf('ann', '2025-11-25')
    const request = client.request('events/stream', { name: 'order.paid', arguments: { shop: 'tea' } })
    await expect(request).rejects.toMatchObject({ code: -32601 })
  })
})

test('lists name the modes that a caller can use', async () => {
  const modes = async (user: string | undefined, revision?: string) => {
    await using client = await clientOf(user, revision)
    const { events } = (await client.request('events/list')) as { events: { name: string; delivery: string[] }[] }
    return events.find(({ name }) => name === 'order.paid')?.delivery
  }
  expect(await modes('ann')).toEqual(['webhook', 'poll', 'push'])
  expect(await modes('ann', '2025-11-25')).toEqual(['webhook', 'poll'])
  expect(await modes(undefined)).toEqual(['poll', 'push'])
})

describe('a webhook subscription', () => {
  const subscribe = async (user: string, receiver: Receiver, shop: string, cursor: unknown, more: Fields = {}) => {
    await using client = await clientOf(user)
    const { url, secret } = receiver
    const params = {
      name: 'order.paid',
      arguments: { shop },
      delivery: { mode: 'webhook', url, secret },
      cursor,
      ...more,
    }
    return client.request('events/subscribe', params)
  }
  const unsubscribe = async (user: string, { url }: Receiver, shop: string) => {
    await using client = await clientOf(user)
    await client.request('events/unsubscribe', { name: 'order.paid', arguments: { shop }, delivery: { url } })
  }

  test('that had ended begins now, says so, and polls for what it missed', async () => {
    const shop = 'missed'
    const receiver = new Receiver(internet, shop)
    const { cursor } = await subscribe('ann', receiver, shop, null)
    expect(cursor).toMatch(/^\d+$/)
    expect(await subscribe('ann', receiver, shop, cursor)).toMatchObject({ truncated: false })
    await unsubscribe('ann', receiver, shop)
    await publish(shop, 1)
    const again = await subscribe('ann', receiver, shop, cursor)
    expect(again).toMatchObject({ truncated: true })
    await publish(shop, 2)
    expect(totals(await receiver.received(1))).toEqual([2])
    expect(totals((await poll('ann', { arguments: { shop }, cursor })).events)).toEqual([1, 2])
    expect(totals((await poll('ann', { arguments: { shop }, cursor: again.cursor })).events)).toEqual([2])
  })

  test('that begins with a cursor takes no event from another one', async () => {
    const shop = 'beside'
    const receiver = new Receiver(internet, shop)
    const other = new Receiver(internet, `${shop}-other`)
    await subscribe('ann', receiver, shop, null)
    for (let total = 1; total <= 30; total += 1) {
      if (total % 10 === 0) await subscribe('ann', other, shop, '0')
      await publish(shop, total)
      if (total % 10 === 5 && total > 10) await unsubscribe('ann', other, shop)
    }
    await receiver.received(30)
    expect(new Set(totals(receiver.events)).size).toBe(30)
  })

  test('a refresh with a cursor delivers nothing again, and returns a position after what was delivered', async () => {
    const shop = 'refreshed'
    const receiver = new Receiver(internet, shop)
    const first = await subscribe('ann', receiver, shop, null)
    await publish(shop, 1)
    await receiver.received(1)
    const second = await subscribe('ann', receiver, shop, first.cursor)
    expect(Number(second.cursor)).toBeGreaterThanOrEqual(Number(first.cursor))
    await publish(shop, 2)
    expect(totals(await receiver.received(2))).toEqual([1, 2])
  })

  test('a position is never after an event that is on its way', async () => {
    const shop = 'on-its-way'
    const receiver = new Receiver(internet, shop)
    receiver.answers = () => new Response(null, { status: 503 })
    await subscribe('ann', receiver, shop, null)
    const before = await poll('ann', { arguments: { shop } })
    await publish(shop, 1)
    await receiver.received(1)
    const { cursor } = await subscribe('ann', receiver, shop, null)
    expect(totals((await poll('ann', { arguments: { shop }, cursor })).events)).toEqual([1])
    expect(totals((await poll('ann', { arguments: { shop }, cursor: before.cursor })).events)).toEqual([1])
    receiver.answers = () => new Response(null, { status: 204 })
    await unsubscribe('ann', receiver, shop)
  })

  test('has missed nothing when much came for others', async () => {
    const shop = 'missed-much'
    const receiver = new Receiver(internet, shop)
    const { cursor } = await poll('ann', { arguments: { shop } })
    for (let total = 1; total <= 10; total += 1) await publish('x'.repeat(30_000), total, userOf('bob'))
    expect(await subscribe('ann', receiver, shop, cursor)).toMatchObject({ truncated: false })
    await unsubscribe('ann', receiver, shop)
  })

  test('and a poll do not tell when events for others are published', async () => {
    const shop = 'told'
    const receiver = new Receiver(internet, shop)
    await publish(shop, 1, userOf('bob'))
    const published = Date.now()
    const cursors = [
      (await poll('ann', { arguments: { shop } })).cursor,
      (await poll('ann', { arguments: { shop }, cursor: 'historyId_7' })).cursor,
      (await subscribe('ann', receiver, shop, null)).cursor,
    ]
    await unsubscribe('ann', receiver, shop)
    // A position that does not follow from an event is a second old.
    const latest = (Date.now() - 1000) * 1000
    for (const cursor of cursors) expect(Number(cursor)).toBeLessThanOrEqual(latest)
    expect(await poll('ann', { arguments: { shop }, cursor: `${(published - 100) * 1000}` })).toMatchObject({
      truncated: false,
    })
  })

  test('and a poll learn that they may have missed events of a time without a log', async () => {
    const shop = 'unlogged'
    const receiver = new Receiver(internet, shop)
    await publish(shop, 0)
    const { cursor } = await poll('ann', { arguments: { shop } })
    await publish(shop, 1)
    await server.reload({ LOG_AGE: 'none' })
    await publish(shop, 2)
    await server.reload()
    const { cursor: later } = await poll('ann', { arguments: { shop } })
    await publish(shop, 3)
    expect(await poll('ann', { arguments: { shop }, cursor })).toMatchObject({ truncated: true })
    expect(await subscribe('ann', receiver, shop, cursor)).toMatchObject({ truncated: true })
    const { events, truncated } = await poll('ann', { arguments: { shop }, cursor: later })
    expect([totals(events), truncated]).toEqual([[3], false])
    await unsubscribe('ann', receiver, shop)
  })

  test('that had ended has missed no events of others', async () => {
    const shop = 'missed-by-others'
    const receiver = new Receiver(internet, shop)
    const { cursor } = await poll('ann', { arguments: { shop } })
    await publish(shop, 1, userOf('bob'))
    await publish('another', 2)
    expect(await subscribe('ann', receiver, shop, cursor)).toMatchObject({ truncated: false })
    await unsubscribe('ann', receiver, shop)
    await publish(shop, 3, userOf('ann'))
    expect(await subscribe('ann', receiver, shop, cursor)).toMatchObject({ truncated: true })
    await unsubscribe('ann', receiver, shop)
  })

  test('an unknown cursor begins now, and says so', async () => {
    const receiver = new Receiver(internet, 'unknown-cursor')
    const subscribed = await subscribe('ann', receiver, 'unknown', 'historyId_7')
    expect(subscribed).toMatchObject({ truncated: true, cursor: expect.stringMatching(/^\d+$/) })
  })
})

test.each([
  ['error', 'matches fails'],
  ['promise', 'matches of event \\"undecided\\" must return true or false, and no promise'],
  ['no value', 'matches of event \\"undecided\\" must return true or false, and no promise'],
  ['text', 'matches of event \\"undecided\\" must return true or false, and no promise'],
])('a function `matches` without a decision leaves its event out, and is reported: %s', async (shop, reported) => {
  const query = { name: 'undecided', arguments: { shop } }
  const { cursor } = await poll('uma', query)
  await publish(shop, 1, { everyone: true }, 'undecided')
  server.harness.clearLogs()
  expect((await poll('uma', { ...query, cursor })).events).toEqual([])
  await expect.poll(() => JSON.stringify(server.harness.getLogs())).toContain(reported)
})

test.each(['2026-07-28', '2025-11-25', '2025-03-26'])(
  'an event updates the resource that it names: in %s',
  async (revision) => {
    await using client = await clientOf('ann', revision)
    const uri = `note://${revision}`
    await client.subscribe({ resourceSubscriptions: [uri] })
    const payload = { id: revision }
    const body = JSON.stringify({ name: 'note.saved', payload, recipients: userOf('ann'), options: {} })
    await fetch(new URL('/publish', server.url), { method: 'POST', body })
    expect((await client.next('notifications/resources/updated')).params).toMatchObject({ uri })
  },
)
