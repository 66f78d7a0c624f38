/** Ways to use a session and then never come back, and what may be left of it when it has been idle for too long. */
import { setTimeout } from 'node:timers/promises'
import { events } from '../../../worker/client/wire.ts'
import { connect } from '../../../worker/testing/index.ts'
import type { Inventory } from './inventory.ts'
import type { LeakyServer } from './server.ts'
import { messagesOf, readUntil, Visitor } from './visitor.ts'

/** `mark`: only that it is over, for a client that ended it. */
export type Remains = 'nothing' | 'mark'

export type Abandoned = { way: string; name: string; remains: Remains }

type Way = {
  remains: Remains
  /** Uses a session. Resolves to what names it when it has been left. */
  leave(server: LeakyServer): Promise<string>
}

const ways: Record<string, Way> = {
  'quick calls': {
    remains: 'nothing',
    leave: (server) =>
      visit(server, async (visitor) => {
        await answered(await visitor.ask('tools/list'))
        await answered(await visitor.call('echo', { text: 'hi' }))
      }),
  },
  'a call with a stream': {
    remains: 'nothing',
    leave: (server) => visit(server, async (visitor) => void (await answered(await visitor.call('count', { to: 3 })))),
  },
  'a call with a stream, dropped': {
    remains: 'nothing',
    leave: (server) =>
      visit(server, async (visitor, { signal }) => {
        const stream = events(await visitor.call('linger', { milliseconds: 500 }, signal))
        await readUntil(stream, ({ method }) => method === 'notifications/message')
      }),
  },
  'a standing stream, dropped': {
    remains: 'nothing',
    leave: (server) =>
      visit(server, async (visitor, { signal }) => void (await events(await visitor.stream(undefined, signal)).next())),
  },
  'a subscription': {
    remains: 'nothing',
    leave: (server) =>
      visit(server, async (visitor) => {
        await answered(await visitor.ask('resources/subscribe', { uri: 'note://1' }))
      }),
  },
  'a subscription that was taken back': {
    remains: 'nothing',
    leave: (server) =>
      visit(server, async (visitor) => {
        await answered(await visitor.ask('resources/subscribe', { uri: 'note://1' }))
        await answered(await visitor.ask('resources/unsubscribe', { uri: 'note://1' }))
      }),
  },
  'a subscription and a standing stream, dropped': {
    remains: 'nothing',
    leave: (server) =>
      visit(server, async (visitor, { signal }) => {
        const stream = events(await visitor.stream(undefined, signal))
        // A note of its own, so that nobody else is told.
        const id = crypto.randomUUID()
        await answered(await visitor.ask('resources/subscribe', { uri: `note://${id}` }))
        await answered(await visitor.call('touch', { id }))
        await readUntil(stream, ({ method }) => method === 'notifications/resources/updated')
      }),
  },
  'a log level': {
    remains: 'nothing',
    leave: (server) =>
      visit(server, async (visitor) => {
        await answered(await visitor.ask('logging/setLevel', { level: 'debug' }))
      }),
  },
  'a question without an answer': {
    remains: 'nothing',
    leave: (server) =>
      visit(server, async (visitor, { signal }) => {
        const stream = events(await visitor.call('ask', {}, signal))
        await readUntil(stream, ({ method }) => method === 'elicitation/create')
      }),
  },
  'a question that was refused': {
    remains: 'nothing',
    leave: (server) =>
      visit(server, async (visitor) => {
        const stream = events(await visitor.call('ask'))
        const { id } = await readUntil(stream, ({ method }) => method === 'elicitation/create')
        await visitor.post({ id, error: { code: -1, message: 'No' } })
        await readUntil(stream, (message) => message.id === 1)
      }),
  },
  'HTTP+SSE, dropped': {
    remains: 'nothing',
    async leave({ url }) {
      const { session, leave } = await Visitor.arriveOverSse(url)
      leave()
      return session
    },
  },
  'a DELETE': {
    remains: 'mark',
    leave: (server) =>
      visit(server, async (visitor) => {
        await answered(await visitor.call('count', { to: 3 }))
        const { status } = await visitor.end()
        if (status !== 204) throw new Error(`DELETE was answered with ${status}`)
      }),
  },
}

export const wayCount = Object.keys(ways).length

/** @throws Error unless a request was answered with a result: then its session had ended while it was still used */
async function answered(response: Response): Promise<void> {
  const messages = await messagesOf(response)
  if (!messages.some((message) => 'result' in message)) {
    throw new Error(`A request was answered with ${response.status} ${JSON.stringify(messages)}`)
  }
}

/** Opens a session, does something with it, and drops every connection that is still open. */
async function visit(
  { url }: LeakyServer,
  use: (visitor: Visitor, stop: AbortController) => Promise<void>,
): Promise<string> {
  const visitor = await Visitor.arrive(url)
  const stop = new AbortController()
  await use(visitor, stop)
  stop.abort()
  return visitor.session
}

/** Abandons so many sessions, in all ways alike, ten at a time. */
export async function abandon(server: LeakyServer, count: number): Promise<Abandoned[]> {
  const abandoned: Abandoned[] = []
  const every = Object.entries(ways)
  let next = 0
  const leaveSome = async () => {
    while (next < count) {
      const [way, { remains, leave }] = every[next++ % every.length] as [string, Way]
      abandoned.push({ way, remains, name: await server.objectOf(await leave(server)) })
    }
  }
  await Promise.all(Array.from({ length: 10 }, leaveSome))
  return abandoned
}

/**
 * Waits until of each session only that is left which should be.
 *
 * @param deadline milliseconds since 1970
 * @throws Error for the first that is not in time
 */
export async function settled(server: LeakyServer, abandoned: readonly Abandoned[], deadline: number): Promise<void> {
  // From the last to the first, and one at a time: those that nobody looks at may sleep until their alarms wake them.
  for (const { way, name, remains } of abandoned.toReversed()) {
    for (;;) {
      const left = leftOver(await server.session(name), remains)
      if (left === undefined) break
      if (Date.now() > deadline) throw new Error(`After ${way} a session still holds ${left}`)
      await setTimeout(100)
    }
  }
  const { sockets, tables } = await server.subscriptions({ alone: true })
  if (sockets > 0 || (tables.subscriptions ?? 0) > 0) {
    throw new Error(`The Subscriptions object still holds ${JSON.stringify({ sockets, tables })}`)
  }
}

/** What an object holds that it should not, in words; `undefined` when all is well. */
function leftOver({ sockets, tables, keys, alarm }: Inventory, remains: Remains): string | undefined {
  const isMarked = remains === 'mark'
  const isRight =
    sockets === 0 &&
    Object.keys(tables).length === 0 &&
    keys.join() === (isMarked ? 'ended,schema' : '') &&
    // The mark goes with the session's id, which is worth something for seven days.
    (isMarked ? alarm !== null && alarm > Date.now() + sixDays : alarm === null)
  return isRight ? undefined : JSON.stringify({ sockets, tables, keys, alarm: alarm && `in ${alarm - Date.now()} ms` })
}

const sixDays = 6 * 24 * 60 * 60_000

/** Opens streams of changes in the way of clients without sessions, and drops them. */
export async function dropListeners({ url }: LeakyServer, count: number): Promise<void> {
  const drops = Array.from({ length: count }, async () => {
    const client = await connect(url, { revision: '2026-07-28' })
    await client.subscribe({ resourceSubscriptions: ['note://1'] })
    return client
  })
  const clients = await Promise.all(drops)
  // Leaving is all that `close` does for a client that has no session.
  await Promise.all(clients.map((client) => client.close()))
}
