import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { doc, measure, sessionRevisions, tablesOf, withTables } from '../../scripts/cost.ts'
import type { Bill, Cost } from '../support/counted/stage.ts'

let bills: Bill[]
let sessions: Bill
let sse: Bill
let stateless: Bill
beforeAll(async () => {
  bills = await measure()
  sessions = bills[0] as Bill
  ;[sse, stateless] = bills.slice(-2) as [Bill, Bill]
}, 180_000)

function costOf(bill: Bill, operation: string): Cost {
  const found = bill.costs.find((cost) => cost.operation === operation)
  if (!found) throw new Error(`${operation} was not counted`)
  return found
}

/** Nothing but the request to the Worker. */
const nothingElse = { feeds: 0, calls: 0, woken: 0, rowsRead: 0, rowsWritten: 0, alarmsSet: 0, alarmsRun: 0 }
const requestsOf = ({ session, subscriptions }: Cost) =>
  session.calls + session.feeds + subscriptions.calls + subscriptions.feeds

test('every protocol version with sessions has the same costs', () => {
  const [first, ...others] = bills.slice(0, sessionRevisions.length) as [Bill, ...Bill[]]
  expect(others.length).toBeGreaterThan(0)
  for (const other of others) expect(other).toEqual(first)
})

test('docs/guides/costs.md has the counted requests', async () => {
  const document = await readFile(doc, 'utf8')
  expect(document).toBe(withTables(document, tablesOf(bills)))
})

describe('a session', () => {
  test.each([
    '`initialize`',
    '`notifications/initialized`',
    'a forged session id',
    "another principal's session id",
    'an expired session id',
  ])('makes no Durable Object request for %s', (operation) => {
    const cost = costOf(sessions, operation)
    expect(cost).toMatchObject({ http: 1, session: nothingElse, subscriptions: nothingElse })
  })

  test('makes one Durable Object request for another method, and a second one for a stream of a GET', () => {
    const asked = sessions.costs.filter(({ http }) => http > 0)
    expect(asked.length).toBeGreaterThan(15)
    for (const { operation, http, session } of asked) {
      expect(http, operation).toBe(1)
      const opens = operation.startsWith('`GET`')
      const isUnneeded = /^`(initialize|notifications\/initialized)`$|session id$/.test(operation)
      expect(session.calls, operation).toBe(isUnneeded ? 0 : 1)
      expect(session.feeds, operation).toBe(opens ? 1 : 0)
    }
  })

  test('makes no further Durable Object request for notifications on a stream', () => {
    const { http, session, subscriptions } = costOf(sessions, '… each further event')
    expect([http, session.calls, session.feeds, session.alarmsSet]).toEqual([0, 0, 0, 0])
    expect(subscriptions).toMatchObject(nothingElse)
    const slowly = costOf(sessions, '`tools/call` with three progress events, slowly')
    expect(requestsOf(slowly)).toBe(1)
  })

  test('makes one Durable Object request for an input request that is answered at once, and one for its answer', () => {
    const [question, answer] = ['`tools/call` that requests input', '… the input response'].map((operation) =>
      costOf(sessions, operation),
    ) as [Cost, Cost]
    expect([requestsOf(question), requestsOf(answer)]).toEqual([1, 1])
    // In an hour, an alarm deletes the finished stream.
    expect([answer.session.alarmsSet, answer.session.alarmsRun]).toEqual([1, 0])
  })

  test('writes one row for each message on a stream', () => {
    expect(costOf(sessions, '… each further event').session.rowsWritten).toBe(1)
  })

  test('that only had calls without a stream stores nothing', () => {
    const [quick] = sessions.leavings
    expect(quick).toEqual({
      after: '`initialize`, `tools/list` and a `tools/call` without a stream',
      left: { tables: [], keys: [], alarm: false },
    })
    for (const operation of ['`ping`', '`tools/list`', '`tools/call`, answered without a stream']) {
      expect(costOf(sessions, operation).session, operation).toMatchObject({ rowsWritten: 0, alarmsSet: 0 })
    }
  })

  test('makes a request to the Subscriptions object to subscribe and to unsubscribe only', () => {
    const others = sessions.costs
      .filter(({ subscriptions }) => subscriptions.calls > 0)
      .map(({ operation }) => operation)
    expect(others).toEqual([
      '`GET`, the stream opens',
      '… a change is published and delivered to it',
      '`resources/subscribe`',
      '`resources/unsubscribe`',
      '`DELETE`, there were streams',
      'a session with a subscription expires, a day later',
    ])
  })

  test('is deleted when it expires', () => {
    const { left } = sessions.leavings.find(({ after }) => after === '… and its id expired') ?? {}
    expect(left).toEqual({ tables: [], keys: [], alarm: false })
  })
})

test('an idle stream costs nothing, and its Durable Objects hibernate', () => {
  const idle = [sessions, sse, stateless].flatMap(({ costs }) =>
    costs.filter(({ operation }) => /^… while /.test(operation)),
  )
  expect(idle).toHaveLength(4)
  for (const cost of idle) expect(cost).toMatchObject({ http: 0, session: nothingElse, subscriptions: nothingElse })
})

test('Durable Objects get no WebSocket messages', () => {
  for (const { session, subscriptions } of bills.flatMap(({ costs }) => costs)) {
    expect([session.messages, subscriptions.messages]).toEqual([0, 0])
  }
})

test('over HTTP+SSE a client causes one Durable Object request for each of its messages', () => {
  const asked = sse.costs.filter(({ http }) => http > 0)
  expect(asked).toHaveLength(4)
  for (const { operation, session } of asked) expect(session.calls + session.feeds, operation).toBe(1)
})

describe('a stateless client', () => {
  test('makes no Durable Object request for its calls', () => {
    const calls = stateless.costs.filter(({ operation, http }) => http > 0 && !operation.includes('listen'))
    expect(calls).toHaveLength(6)
    for (const cost of calls) {
      expect(cost, cost.operation).toMatchObject({ http: 1, session: nothingElse, subscriptions: nothingElse })
    }
  })

  test.each([
    // That somebody listens, or that something changed, is written down for those who are away for a moment.
    ['`subscriptions/listen`', 1],
    ['a change is published, without subscribers', 0],
    ['… a change is published and delivered to it', 1],
  ])('makes one Durable Object request: %s', (operation, rowsWritten) => {
    const cost = costOf(stateless, operation)
    expect(requestsOf(cost)).toBe(1)
    expect(cost).toMatchObject({ session: nothingElse, subscriptions: { woken: 1, rowsWritten, alarmsSet: 0 } })
  })
})
