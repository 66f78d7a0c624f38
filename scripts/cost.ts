/**
 * Prints the cost of each operation: runs it against test/support/counted in real workerd, over real HTTP, and counts the
 * requests, rows and alarms that would be billed. `--write` writes the tables into docs/guides/costs.md.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Bill, type Cost, type Leaving, Stage, statelessRevision } from '../test/support/counted/stage.ts'
import type { Tally } from '../test/support/counted/tally.ts'
import { startServer, type TestServer } from '../test/support/server.ts'
import { mintKeyRing } from '../worker/sealing/seal.ts'
import { type CurvePoint, type EventCost, measureCurve, measureEvents } from './cost-events.ts'
import { measureSignIn, type SignInCost } from './cost-sign-in.ts'

/** Dollars for each, beyond those included in a paid plan. */
const prices = { http: 0.3e-6, object: 0.15e-6, rowRead: 0.001e-6, rowWritten: 1e-6 }
/** The number of incoming WebSocket messages that are billed as one request. */
const messagesPerRequest = 20

export const sessionRevisions = ['2025-11-25', '2025-06-18']

/** Milliseconds until the alarm of a running call, until an idle session expires, and until its id expires. */
const [held, idle, lifetimeMs] = [20_000, 90_000_000, 7 * 86_400_000] as const

export const doc = resolve(import.meta.dirname, '../docs/guides/costs.md')

/** Runs every operation: one bill for each protocol version with sessions, one for HTTP+SSE, one for stateless clients. */
export async function measure(): Promise<Bill[]> {
  const { current, keys } = mintKeyRing()
  await using server = await startServer('test/support/counted', { EDGEMCP_KEYS: `${current}:${keys[current]}` })
  const bills: Bill[] = []
  // The first session causes the costs that all sessions share.
  await measureSessions(server, sessionRevisions[0] as string)
  for (const revision of sessionRevisions) bills.push(await measureSessions(server, revision))
  bills.push(await measureSse(server), await measureStateless(server))
  return bills
}

// Operations

async function measureSessions(server: TestServer, revision: string): Promise<Bill> {
  const bill: Bill = { title: `Sessions: ${sessionRevisions.join(' and ')}`, costs: [], leavings: [] }
  const stage = () => new Stage(server, bill, revision)
  const initialized = async () => {
    const session = stage()
    await session.initialize()
    return session
  }
  {
    await using session = stage()
    await session.count('`initialize`', () => session.initialize())
    await session.count('`notifications/initialized`', () => session.notify('notifications/initialized'))
    await session.count('`ping`', () => session.request('ping'))
    await session.count('`tools/list`', () => session.request('tools/list'))
    await session.count('`tools/call`, answered without a stream', () => session.request('tools/call', echo))
    await session.leave('`initialize`, `tools/list` and a `tools/call` without a stream')
    await session.count('`logging/setLevel`', () => session.request('logging/setLevel', { level: 'error' }))
    await session.leave('`logging/setLevel`')
  }
  {
    await using session = await initialized()
    const hurry = (steps: number) => async () => (await session.stream('tools/call', hurrying(steps))).ended()
    await session.count('`tools/call` with three progress events', hurry(3))
    await session.leave('a stream')
    {
      await using another = await initialized()
      const four = async () => (await another.stream('tools/call', hurrying(4))).ended()
      await another.countFurther('… each further event', '`tools/call` with three progress events', four)
    }
    const resume = async () => (await session.listen('1.1')).ended()
    await session.count('`GET` with `Last-Event-ID`, three events replayed', resume)
    await session.count('`tools/call` with three progress events, a second time', hurry(3))
  }
  {
    await using session = await initialized()
    await session.count('`tools/call` with three progress events, slowly', async () => {
      const stream = await session.stream('tools/call', strolling(3))
      for (const step of [1, 2, 3]) {
        await stream.until(`"progress":${step}`)
        await session.goOn()
      }
      await stream.ended()
    })
    await session.count('… the alarm that held its object, 20 s later', () => session.alarm(held))
  }
  {
    await using session = await initialized()
    const stream = await session.count('`tools/call` that requests input', async () => {
      const stream = await session.stream('tools/call', { name: 'ask' })
      return stream.until('"id":"ask-1"')
    })
    await session.leave('an input request')
    await session.count('… while the input request is open', () => stream.keptAlive())
    await session.count('… the input response', async () => {
      await session.answer('ask-1', { action: 'accept', content: { name: 'Ada' } })
      await stream.until('Hello, Ada!')
      await stream.ended()
    })
  }
  {
    await using session = await initialized()
    const stream = await session.count('`GET`, the stream opens', () => session.listen())
    await session.count('… while no event is sent', () => stream.keptAlive())
    await session.leave('a `GET` stream')
    await session.request('resources/subscribe', { uri: `note://${revision}` })
    await session.count('… a change is published and delivered to it', async () => {
      await session.publish(revision)
      await stream.until('notifications/resources/updated')
    })
    await session.count('… the client closes it', () => session.hangUp(stream))
  }
  {
    await using session = await initialized()
    const uri = `note://${revision}`
    await session.count('`resources/subscribe`', () => session.request('resources/subscribe', { uri }))
    await session.leave('`resources/subscribe`')
    await session.count('`resources/unsubscribe`', () => session.request('resources/unsubscribe', { uri }))
  }
  {
    await using session = await initialized()
    const waiting = await session.stream('tools/call', { name: 'ask' })
    await waiting.until('"id":"ask-1"')
    await session.count('`notifications/cancelled`, an input request is open', async () => {
      await session.notify('notifications/cancelled', { requestId: session.lastId })
      await waiting.ended()
    })
    const running = await session.stream('tools/call', strolling(2))
    await running.until('"progress":1')
    const cancel = async () => {
      await session.notify('notifications/cancelled', { requestId: session.lastId })
      await running.ended()
    }
    await session.countAwake('`notifications/cancelled`, the handler runs', cancel)
  }
  {
    await using session = await initialized()
    await session.request('tools/call', echo)
    await session.count('a response to no open request', () => session.answer('ask-99', {}))
    await session.count('`DELETE`, nothing was stored', () => session.end())
    await session.leave('`DELETE`')
    await session.count('… its id expires', () => session.alarm(lifetimeMs))
    await session.leave('… and its id expired')
  }
  {
    await using session = await initialized()
    await (await session.stream('tools/call', hurrying(3))).ended()
    await session.listen()
    await session.count('`DELETE`, there were streams', () => session.end())
  }
  {
    await using session = await initialized()
    const id = session.id as string
    session.id = id.slice(0, -1) + (id.endsWith('A') ? 'B' : 'A')
    await session.count('a forged session id', () => session.refused())
    session.id = id
    await session.count("another principal's session id", () => session.refused('bob'))
    await session.wait(lifetimeMs)
    await session.count('an expired session id', () => session.refused())
  }
  {
    await using session = await initialized()
    await (await session.stream('tools/call', hurrying(3))).ended()
    await session.count('a session with a stream expires, a day later', () => session.alarm(idle))
    await session.leave('expiry of a session with a stream')
  }
  {
    await using session = await initialized()
    await session.request('resources/subscribe', { uri: `note://${revision}` })
    await session.count('a session with a subscription expires, a day later', () => session.alarm(idle))
    await session.leave('expiry of a session with a subscription')
  }
  return bill
}

async function measureSse(server: TestServer): Promise<Bill> {
  const bill: Bill = { title: 'HTTP+SSE: 2024-11-05', costs: [], leavings: [] }
  await using session = new Stage(server, bill, '2024-11-05')
  const stream = await session.count('`GET /sse`', () => session.openSse())
  const said = (id: number) => `"id":${id},`
  await session.count('`initialize`', async () => {
    await session.initialize()
    await stream.until(said(session.lastId))
  })
  await session.count('`notifications/initialized`', () => session.notify('notifications/initialized'))
  await session.count('`tools/call`', async () => {
    await session.post(session.message('tools/call', echo))
    await stream.until(said(session.lastId))
  })
  await session.count('… while no event is sent', () => stream.keptAlive())
  await session.leave('a `tools/call` over HTTP+SSE')
  await session.count('the client closes its stream', () => session.hangUp(stream))
  await session.leave('the end of an HTTP+SSE stream')
  return bill
}

async function measureStateless(server: TestServer): Promise<Bill> {
  const bill: Bill = { title: `Stateless: ${statelessRevision}`, costs: [], leavings: [] }
  await using client = new Stage(server, bill, statelessRevision)
  for (const method of ['server/discover', 'tools/list']) {
    await client.count(`\`${method}\``, () => client.request(method))
  }
  await client.count('`tools/call`, answered without a stream', () => client.request('tools/call', echo))
  const hurry = async () => (await client.stream('tools/call', hurrying(3))).ended()
  await client.count('`tools/call` with three progress events', hurry)
  const ask = (more = {}) => client.request('tools/call', { name: 'ask', ...more })
  const { requestState } = await client.count('`tools/call` that requests input', () => ask())
  const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
  await client.count('… the input response', () => ask({ requestState, inputResponses }))
  await client.count('a change is published, without subscribers', () => client.publish('stateless'))
  const stream = await client.count('`subscriptions/listen`', async () => {
    const notifications = { resourceSubscriptions: ['note://stateless'] }
    return (await client.stream('subscriptions/listen', { notifications })).until('acknowledged')
  })
  await client.count('… while no event is sent', () => stream.keptAlive())
  await client.count('… a change is published and delivered to it', async () => {
    await client.publish('stateless')
    await stream.until('notifications/resources/updated')
  })
  return bill
}

const echo = { name: 'echo', arguments: { text: 'hi' } }
const reporting = (name: string) => (steps: number) => ({
  name,
  arguments: { steps },
  _meta: { progressToken: 'token' },
})
const [hurrying, strolling] = [reporting('hurry'), reporting('stroll')]

// Output

/** Dollars. */
export function priceOf({ http, session, subscriptions }: Omit<Cost, 'operation'>): number {
  const requests = ({ calls, feeds, alarmsRun, messages }: Tally) =>
    calls + feeds + alarmsRun + messages / messagesPerRequest
  const rows = (tally: Tally) => tally.rowsRead * prices.rowRead + tally.rowsWritten * prices.rowWritten
  const objects = [session, subscriptions].map((tally) => requests(tally) * prices.object + rows(tally))
  return objects.reduce((sum, price) => sum + price, http * prices.http)
}

/** All bills as Markdown. Costs that protocol versions share are listed once. */
export function tablesOf(bills: readonly Bill[]): string {
  const told = bills.filter((bill, index) => bills.findIndex(({ title }) => title === bill.title) === index)
  const leavings = told.flatMap((bill) => bill.leavings)
  return [...told.map(billTable), leavingsTable(leavings)].join('\n\n')
}

function billTable({ title, costs }: Bill): string {
  const head = [
    'operation',
    'HTTP',
    'relays',
    'session',
    'read',
    'written',
    'subscriptions',
    'read',
    'written',
    'woken',
    'alarms set',
    'run',
    '$',
  ]
  const rows = costs.map((cost) => {
    const { operation, http, session, subscriptions } = cost
    const counts = [
      http,
      session.feeds + subscriptions.feeds,
      ...[session, subscriptions].flatMap(({ calls, rowsRead, rowsWritten }) => [calls, rowsRead, rowsWritten]),
      session.woken + subscriptions.woken,
      session.alarmsSet + subscriptions.alarmsSet,
      session.alarmsRun + subscriptions.alarmsRun,
    ]
    return [operation, ...counts.map((count) => (count === 0 ? '' : `${count}`)), dollars(cost)]
  })
  return `### ${title}\n\n${table(head, rows)}`
}

function dollars(cost: Cost): string {
  const million = priceOf(cost) * 1e6
  return million === 0 ? '' : million.toFixed(3)
}

function leavingsTable(leavings: readonly Leaving[]): string {
  const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ')
  const rows = leavings.map(({ after, left }) => [after, code(left.tables), code(left.keys), left.alarm ? 'yes' : ''])
  return `### What a session stores\n\n${table(['after', 'tables', 'keys', 'alarm'], rows)}`
}

function table(head: readonly string[], rows: readonly string[][]): string {
  const line = (cells: readonly string[]) => `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}

const [begin, beginEvents, beginSignIn, end] = [
  '<!-- npm run cost -->\n',
  '<!-- npm run cost: events -->\n',
  '<!-- npm run cost: sign-in -->\n',
  '\n<!-- end -->',
] as const

/** Returns a document with these tables between its two marks. */
export function withTables(document: string, tables: string): string {
  return between(document, begin, tables)
}

/** Returns a document with this table of the costs of events between its two marks. */
export const withEvents = (document: string, costs: readonly EventCost[]): string =>
  between(document, beginEvents, table(eventHead, costs.map(eventRow)))

/** Returns the lines of a table of the costs of events. */
export const eventLines = (costs: readonly EventCost[]): readonly string[] =>
  table(eventHead, costs.map(eventRow)).split('\n').slice(2)

const eventHead = [
  'operation',
  'HTTP',
  'users',
  'read',
  'written',
  'event',
  'read',
  'written',
  'woken',
  'alarms set',
  'run',
  'POSTs',
  '$',
]

function eventRow({ operation, http, posts, others, index }: EventCost): string[] {
  const counts = [
    http,
    ...[others, index].flatMap(({ calls, rowsRead, rowsWritten }) => [calls, rowsRead, rowsWritten]),
    others.woken + index.woken,
    others.alarmsSet + index.alarmsSet,
    others.alarmsRun + index.alarmsRun,
    posts,
  ]
  const million = priceOf({ http, session: others, subscriptions: index }) * 1e6
  return [operation, ...counts.map((count) => (count === 0 ? '' : `${count}`)), million === 0 ? '' : million.toFixed(3)]
}

/** Returns a table of the costs of publications, with one for more users that is computed from the last two. */
function curveTable(points: readonly CurvePoint[], computedUsers: number): string {
  const rows = points.map(({ users, others, index, ...cost }) => ({
    users,
    counts: [
      others.calls + index.calls + others.alarmsRun + index.alarmsRun,
      index.alarmsRun,
      index.rowsRead,
      others.rowsRead,
      others.rowsWritten + index.rowsWritten,
      priceOf({ ...cost, session: others, subscriptions: index }),
    ],
  }))
  const [less, more] = rows.slice(-2)
  if (!less || !more) throw new Error('A curve has two points or more')
  const slope = (computedUsers - more.users) / (more.users - less.users)
  const computed = more.counts.map((count, at) => count + (count - (less.counts[at] ?? 0)) * slope)
  const cells = (users: number, counts: readonly number[], note = '') => [
    users.toLocaleString('en') + note,
    ...counts.map((count, at) => (at < 5 ? Math.round(count).toLocaleString('en') : count.toFixed(4))),
  ]
  return table(
    ['users', 'requests', 'alarms of the event', 'read by the event', 'by users', 'written', '$'],
    [...rows.map(({ users, counts }) => cells(users, counts)), cells(computedUsers, computed, ' (computed)')],
  )
}

/** Returns a document with this table of the costs of sign-in between its two marks. */
export const withSignIn = (document: string, costs: readonly SignInCost[]): string =>
  between(document, beginSignIn, signInTable(costs))

function between(document: string, mark: string, text: string): string {
  const from = document.indexOf(mark)
  const to = document.indexOf(end, from)
  if (from < 0 || to < from) throw new Error(`The document has no place for the tables: ${mark.trim()}`)
  return `${document.slice(0, from)}${mark}\n${text}\n${document.slice(to)}`
}

function signInTable(costs: readonly SignInCost[]): string {
  const head = ['operation', 'HTTP', 'objects', 'read', 'written', 'woken', 'alarms set', '$']
  const rows = costs.map(({ operation, http, calls, rowsRead, rowsWritten, woken, alarmsSet }) => {
    const price =
      http * prices.http + calls * prices.object + rowsRead * prices.rowRead + rowsWritten * prices.rowWritten
    const counts = [http, calls, rowsRead, rowsWritten, woken, alarmsSet].map((count) =>
      count === 0 ? '' : `${count}`,
    )
    return [operation, ...counts, (price * 1e6).toFixed(3)]
  })
  return table(head, rows)
}

if (import.meta.main) {
  Object.assign(process.env, {
    CLOUDFLARE_CF_FETCH_ENABLED: 'false',
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_LOG: 'none',
  })
  const { values } = parseArgs({ options: { write: { type: 'boolean' }, curve: { type: 'boolean' } } })
  if (values.curve) {
    const points = await measureCurve([10, 100, 1000, 10_000])
    console.log(curveTable(points, 100_000))
  } else {
    const tables = tablesOf(await measure())
    const [events, signIn] = [await measureEvents(true), await measureSignIn()]
    const eventText = [...eventLines(events)].join('\n')
    console.log(`${tables}\n\n### Events\n\n${eventText}\n\n### Sign-in\n\n${signInTable(signIn)}`)
    if (values.write) {
      const document = withTables(await readFile(doc, 'utf8'), tables)
      await writeFile(doc, withSignIn(withEvents(document, events), signIn))
    }
  }
}
