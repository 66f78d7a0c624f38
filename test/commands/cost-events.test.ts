import { readFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { doc, eventLines, withEvents } from '../../scripts/cost.ts'
import { type EventCost, measureEvents } from '../../scripts/cost-events.ts'
import { isFull } from '../support/full.ts'

let costs: EventCost[]
beforeAll(async () => {
  costs = await measureEvents(isFull)
}, 300_000)

function costOf(operation: string): EventCost {
  const found = costs.find((cost) => cost.operation === operation)
  if (!found) throw new Error(`${operation} was not counted`)
  return found
}

const nothing = { calls: 0, rowsRead: 0, rowsWritten: 0, woken: 0, alarmsSet: 0, alarmsRun: 0 }

test('docs/guides/costs.md has the counted requests of events', async () => {
  const document = await readFile(doc, 'utf8')
  if (isFull) expect(document).toBe(withEvents(document, costs))
  else expect(document.split('\n')).toEqual(expect.arrayContaining([...eventLines(costs)]))
})

test('a subscription without events costs nothing', () => {
  expect(costOf('a subscription without events, for a day')).toMatchObject({
    http: 0,
    posts: 0,
    index: nothing,
    others: nothing,
  })
})

test('an event without a subscription is one request, and stays in the log', () => {
  expect(costOf('an event without a subscription')).toMatchObject({
    others: nothing,
    index: { calls: 1, alarmsRun: 0 },
  })
})

test('an event is one request and one alarm for each user', () => {
  const [one, ten] = [costOf('an event to one user'), costOf('an event to 10 users')]
  expect(one.others).toMatchObject({ calls: 1, alarmsRun: 1 })
  expect(ten.others).toMatchObject({ calls: 10, alarmsRun: 10, rowsWritten: 10 * one.others.rowsWritten })
  expect(ten.index).toMatchObject({ calls: 1, alarmsRun: 1, rowsWritten: one.index.rowsWritten })
})

test.runIf(isFull)('an event to one user does not read the subscriptions of others', () => {
  const [one, among] = [costOf('an event to one user'), costOf('an event to one of 1,000 users')]
  expect(among.others).toEqual(one.others)
  expect(among.index.rowsRead - one.index.rowsRead).toBeLessThan(100)
})
