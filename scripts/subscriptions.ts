/**
 * Prints the cost and the duration of change notifications for many subscribers. The figures are computed from the rows that
 * `npm run cost` counted into docs/guides/costs.md, its prices, and the measurements of `npm run bench -- fanout`.
 */
import { readFile } from 'node:fs/promises'
import type { Cost } from '../test/support/counted/stage.ts'
import { noTally, type Tally } from '../test/support/counted/tally.ts'
import { doc, priceOf } from './cost.ts'

/**
 * Seconds, of one run of `npm run bench -- fanout` on two cores, with about 10,000 subscribers. One thread ran all streams and
 * all objects of that runtime, so each figure is an upper bound for a deployment.
 */
const measured = {
  /** From a publication to the last subscriber, for each subscriber of an object. */
  reaching: 112e-6,
  /** To start an object, for each subscriber it has. */
  waking: 9.9e-6,
  /** CPU time for each event that is delivered. */
  event: 114e-6,
  /** CPU time for each comment that keeps a stream alive. */
  comment: 140e-6,
}

// Assumptions

/** Seconds from one object to another. */
const hop = 0.02
/** Hours until a client or the network ends a stream, and the client opens it again. */
const streamLife = 1

// What `subscriptions()` and docs/how-it-works/architecture.md say

/** Subscribers of one object: the default maximum, and a smaller number for a shorter delay. */
const [capacity, fewer] = [10_000, 1000]
/** Objects that one object forwards a change to. */
const breadth = 16
/** Hours that a change is stored, and the maximum of alarms in an hour that delete expired changes. */
const [kept, mostAlarms] = [5 / 60, 360]
/** Keep-alive comments in an hour. */
const comments = 3600 / 15

// Prices of docs/guides/costs.md, in dollars

/** For one second of an object in memory: 128 MB at $12.50 for a million GB-s. */
const awake = 0.128 * 12.5e-6
/** For one second of a Worker's CPU time: $0.02 for a million milliseconds. */
const cpu = 0.02e-6 * 1000

const sizes = [1000, 100_000, 1_000_000]
/** Publications in an hour that reach all subscribers. */
const rates = [
  { name: 'none', hourly: 0 },
  { name: 'one an hour', hourly: 1 },
  { name: 'one a minute', hourly: 60 },
  { name: 'one in ten seconds', hourly: 360 },
]

/** The number of objects for this many subscribers, and of levels below the first object. */
export function treeOf(listeners: number, index = capacity): { objects: number; levels: number } {
  const objects = Math.ceil(listeners / index)
  let levels = 0
  for (let reached = 1, width = 1; reached < objects; levels++) {
    width *= breadth
    reached += width
  }
  return { objects, levels }
}

/** Seconds until the last subscriber is notified. Objects forward a change first, then notify their own subscribers. */
export function reach(listeners: number, limit: number, isSuspended: boolean): number {
  const { objects, levels } = treeOf(listeners, limit)
  const index = listeners / objects
  const waking = isSuspended ? measured.waking * index : 0
  return (levels + 1) * (hop + waking) + measured.reaching * index
}

/**
 * Seconds that all objects together are in memory for one publication: each until its own subscribers are notified, and the
 * objects below it have stored the change.
 */
function awakeFor(listeners: number): number {
  const { objects } = treeOf(listeners)
  const index = listeners / objects
  const waking = measured.waking * index
  const below = new Array<number>(objects).fill(0)
  for (let shard = objects - 1; shard > 0; shard--) {
    const parent = Math.floor((shard - 1) / breadth)
    below[parent] = Math.max(below[parent] as number, hop + waking + (below[shard] as number))
  }
  return below.reduce((sum, waiting) => sum + waking + Math.max(waiting, measured.reaching * index), 0)
}

type Bill = { requests: number; read: number; written: number; awake: number; cpu: number; dollars: number }

const billOf = ({ subscriptions, ...cost }: Cost, times: number, awakeSeconds: number, cpuSeconds: number): Bill => ({
  requests: (subscriptions.calls + subscriptions.feeds + subscriptions.alarmsRun) * times,
  read: subscriptions.rowsRead * times,
  written: subscriptions.rowsWritten * times,
  awake: awakeSeconds,
  cpu: cpuSeconds,
  dollars: priceOf({ ...cost, subscriptions }) * times + awakeSeconds * awake + cpuSeconds * cpu,
})

/** One publication that reaches all subscribers. */
function publication(counted: Counted, listeners: number): Bill {
  const { objects } = treeOf(listeners)
  return billOf(counted.publication, objects, awakeFor(listeners), listeners * measured.event)
}

/** Deletes expired changes, in an hour: an alarm that is set and run, and a row for each publication. */
function tidying(listeners: number, hourly: number): Bill {
  const { objects } = treeOf(listeners)
  const alarms = Math.min(hourly, mostAlarms)
  // An alarm reads all changes twice. It writes a row for the next alarm, and one for the last deleted change.
  const subscriptions = {
    ...noTally,
    alarmsRun: alarms,
    rowsRead: 2 * kept * hourly * alarms,
    rowsWritten: 2 * alarms + hourly,
  }
  return billOf({ operation: '', http: 0, session: noTally, subscriptions }, objects, 0, 0)
}

/** Streams that are open for an hour. */
const listening = (counted: Counted, listeners: number): Bill =>
  billOf(counted.listen, listeners / streamLife, 0, listeners * comments * measured.comment)

// Reads the counted costs

type Counted = { listen: Cost; publication: Cost }

/** @throws Error when docs/guides/costs.md has no such rows */
export function countedIn(document: string): Counted {
  const part = document.slice(document.indexOf('### Stateless'))
  const listen = rowOf(part, '`subscriptions/listen`')
  // The one written row says that there are subscribers: the first subscriber of an object pays for it.
  listen.subscriptions.rowsWritten = 0
  return { listen, publication: rowOf(part, '… a change is published and delivered to it') }
}

/** The columns, by position. */
const columns =
  '| operation | HTTP | relays | session | read | written | subscriptions | read | written | woken | alarms set | run | $ |'

function rowOf(part: string, operation: string): Cost {
  const line = part.split('\n').find((text) => text.startsWith(`| ${operation} |`))
  if (!part.includes(columns)) throw new Error('The table of docs/guides/costs.md has other columns')
  if (!line) throw new Error(`docs/guides/costs.md does not tell what this costs: ${operation}`)
  const [http, feeds, , , , calls, rowsRead, rowsWritten, woken, alarmsSet, alarmsRun] = line
    .split('|')
    .slice(2)
    .map(Number) as [number, number, number, number, number, number, number, number, number, number, number]
  const subscriptions: Tally = { ...noTally, calls, feeds, rowsRead, rowsWritten, woken, alarmsSet, alarmsRun }
  return { operation, http, session: noTally, subscriptions }
}

// Output

const whole = (value: number) => Math.round(value).toLocaleString('en')
const digits = (value: number) =>
  value === 0 ? '0' : Number(value.toPrecision(3)).toLocaleString('en', { maximumSignificantDigits: 3 })

/** The tables as Markdown. */
export function tablesOf(counted: Counted): string {
  return [
    '### How soon everybody has heard\n',
    table(
      [
        'listeners',
        'of each object, at most',
        'objects',
        'levels below the first',
        'objects awake, s',
        'objects asleep, s',
      ],
      sizes.flatMap((size) =>
        [capacity, fewer].map((limit, index) => {
          const { objects, levels } = treeOf(size, limit)
          const soon = [false, true].map((isSuspended) => reach(size, limit, isSuspended).toFixed(2))
          return [index === 0 ? whole(size) : '', whole(limit), whole(objects), `${levels}`, ...soon]
        }),
      ),
    ),
    '\n### What one change costs that everybody hears\n',
    table(
      [
        'listeners',
        'requests to objects',
        'rows read',
        'rows written',
        'objects awake, s',
        'CPU, s',
        '$',
        '$ for a million events',
      ],
      sizes.map((size) => {
        const bill = publication(counted, size)
        return [
          ...[size, bill.requests, bill.read, bill.written].map(whole),
          digits(bill.awake),
          digits(bill.cpu),
          bill.dollars.toFixed(6),
          ((bill.dollars / size) * 1e6).toFixed(4),
        ]
      }),
    ),
    '\n### What an hour costs\n',
    table(
      [
        'listeners',
        'changes',
        'requests',
        'rows written',
        'GB-s',
        'CPU, s',
        '$',
        '$ for a million subscriber-hours',
        '$ for a million events',
      ],
      sizes.flatMap((size) =>
        rates.map(({ name, hourly }, index) => {
          const each = publication(counted, size)
          const told = tidying(size, hourly)
          const quiet = listening(counted, size)
          const sum = (of: (bill: Bill) => number) => of(quiet) + of(told) + of(each) * hourly
          const dollars = sum((bill) => bill.dollars)
          const telling = told.dollars + each.dollars * hourly
          return [
            index === 0 ? whole(size) : '',
            name,
            whole(sum(({ requests }) => requests) + (counted.listen.http * size) / streamLife),
            whole(sum(({ written }) => written)),
            digits(sum((bill) => bill.awake) * 0.128),
            whole(sum((bill) => bill.cpu)),
            dollars.toFixed(4),
            ((dollars / size) * 1e6).toFixed(3),
            hourly === 0 ? '' : ((telling / (size * hourly)) * 1e6).toFixed(4),
          ]
        }),
      ),
    ),
  ].join('\n')
}

function table(head: readonly string[], rows: readonly string[][]): string {
  const line = (cells: readonly string[]) => `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}

if (import.meta.main) console.log(tablesOf(countedIn(await readFile(doc, 'utf8'))))
