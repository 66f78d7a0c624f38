/**
 * Conversations, and what may happen between any two rounds of them: they go on as if it had not, whichever way the
 * client talks, or end as documented. The run ends with a table of all that.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { isFull, sample } from '../support/full.ts'
import type { TestServer } from '../support/server.ts'
import type { Shape } from './survival/conversation.ts'
import { openDiary } from './survival/diary.ts'
import { type Column, due, gone, type Kind, lost, type Row, refused, timeout } from './survival/due.ts'
import { SessionConversation } from './survival/in-session.ts'
import { type Played, play, type Seen } from './survival/play.ts'
import { birthsIn, deploying, evicting, killing, leftIn, letPass, passing, start } from './survival/stages.ts'
import { StatelessConversation } from './survival/stateless.ts'

let server: Promise<TestServer> | undefined
function shared(): Promise<TestServer> {
  server ??= start()
  return server
}
afterAll(async () => (await server)?.[Symbol.asyncDispose]())

const later = (passes: number, more: Partial<Column> = {}) => ({
  start: passing(shared, passes),
  passes,
  after: [0, 1, 2],
  ...more,
})

const [minute, hour] = [60_000, 60 * 60_000]
const day = 24 * hour
const halfAnHour = { late: true, timeout: 30 * minute }

const columns: Readonly<Record<string, Column>> = {
  'every object is evicted, and its sockets are closed': {
    header: ['evicted', 'closed'],
    start: evicting(shared, 'close'),
    after: [0, 1, 2],
  },
  'every object is evicted, and its sockets hibernate': {
    header: ['evicted', 'asleep'],
    start: evicting(shared, 'hibernate'),
    after: [0, 1, 2],
  },
  'the process is killed': { header: ['killed', '-9'], start: killing, after: [0, 1], cuts: true },
  'new code is deployed': {
    header: ['new', 'code'],
    start: deploying,
    after: [0, 1],
    cuts: true,
    versions: [1, 2, 3],
  },
  'an hour passes': { header: ['an hour', 'each'], ...later(hour) },
  'more than a day passes before the first answer': {
    header: ['a day', 'at first'],
    ...later(day + minute, { late: true, after: [0] }),
  },
  'more than a day passes before the last answer': {
    header: ['a day', 'at last'],
    ...later(day + minute, { late: true, after: [1] }),
  },
  'an hour passes before the first answer, which is wanted within half an hour': {
    header: ['30 min', 'at first'],
    ...later(hour, { ...halfAnHour, after: [0] }),
  },
  'an hour passes before the last answer, which is wanted within half an hour': {
    header: ['30 min', 'at last'],
    ...later(hour, { ...halfAnHour, after: [1] }),
  },
}

/** Characters: a journal with these is not carried by the client. */
const luggage = 70_000
const forms = { capabilities: { elicitation: {} } }
const sampling = { capabilities: { sampling: {} } }

const kinds: readonly Kind[] = [
  { revision: '2026-07-28', way: 'plain' },
  { revision: '2026-07-28', way: 'single', single: true },
  { revision: '2026-07-28', way: 'large journal', luggage },
  { revision: '2026-07-28', way: 'single, large journal', single: true, luggage },
  { revision: '2025-11-25', way: 'forms', session: forms },
  { revision: '2025-11-25', way: 'forms, away meanwhile', session: { ...forms, leaves: true } },
  { revision: '2025-06-18', way: 'forms', session: forms },
  { revision: '2025-03-26', way: 'sampling', session: sampling },
  { revision: '2024-11-05', way: 'sampling, HTTP+SSE', session: { ...sampling, overSse: true } },
]
const shapes: readonly Shape[] = ['one by one', 'at once']
const rows: readonly Row[] = sample(
  kinds.flatMap((kind) => shapes.map((shape) => ({ kind, shape }))),
  3,
)
const titleOf = ({ kind: { revision, way }, shape }: Row) => `${revision} ${way}, ${shape}`

const played = new Map<string, Promise<Played<Row>>>()
function columnOf(title: string): Promise<Played<Row>> {
  const playing = played.get(title) ?? playColumn(columns[title] as Column)
  played.set(title, playing)
  return playing
}

async function playColumn(column: Column): Promise<Played<Row>> {
  await using diary = await openDiary()
  const open = (row: Row, url: URL, timeout: number | undefined) => {
    const { revision, single = false, luggage = 0, session } = row.kind
    const trip = { shape: row.shape, single, luggage, timeout, traveller: titleOf(row), diary: diary.url }
    return session ? new SessionConversation(url, trip, { revision, ...session }) : new StatelessConversation(url, trip)
  }
  return await play(column, rows, open, diary)
}

describe.each(Object.entries(columns))('%s', (title, column) => {
  let all: Played<Row>
  beforeAll(async () => {
    all = await columnOf(title)
  })

  test.each(rows.map((row) => [titleOf(row), row] as const))('%s', (_, row) => {
    expect(all.seen.get(row)).toEqual(due(row, column))
  })

  test('no calls, input requests or streams are left open, and no data is left after expiry', () => {
    const open = all.left.filter(({ calls, questions, streams }) => calls + questions + streams > 0)
    // The one whose client was asked once more, and could not hear it.
    const isUnheard = ({ kind, shape }: Row) => kind.session?.overSse === true && shape === 'one by one'
    const unheard = column.cuts && rows.some(isUnheard) ? [{ calls: 1, questions: 1, streams: 0 }] : []
    expect(open).toEqual(unheard.map((one) => expect.objectContaining(one)))
    expect(all.left.filter(({ keys, alarm }) => keys.length > 0 && !alarm)).toEqual([])
    expect(all.inTheEnd.filter(({ keys, alarm }) => keys.length > 0 || alarm)).toEqual([])
  })

  if (column.header[0] === 'evicted') {
    test('each Durable Object was lost and started again', () => {
      expect(all.births.length).toBeGreaterThan(rows.length)
      expect(Math.min(...all.births)).toBeGreaterThan(1)
    })
  }

  const { passes, after } = column
  if (passes) {
    test('the clock advanced for each Durable Object', () => {
      expect(all.passed).toBeGreaterThan(passes * after.length - minute)
    })
  }
})

test('a session that expires soon after the timeout of its input request answers its client with 404', async () => {
  await using diary = await openDiary()
  const { url } = await shared()
  const others = Object.keys(await birthsIn(url))
  const trip = { shape: 'one by one' as const, single: false, luggage: 0, traveller: 'somebody', diary: diary.url }
  const way = { revision: '2025-11-25', ...forms, leaves: true }
  const conversation = new SessionConversation(url, trip, way)
  await conversation.begin()
  const objects = Object.keys(await birthsIn(url)).filter((name) => !others.includes(name))
  await vi.waitFor(async () => expect(await leftIn(url, objects)).toMatchObject([{ calls: 1, sockets: 1 }]))
  await letPass(url, minute, objects)
  conversation.leave()
  await vi.waitFor(async () => expect(await leftIn(url, objects)).toMatchObject([{ calls: 1, sockets: 0 }]))
  // The question was asked before the client left.
  await letPass(url, day - minute / 2, objects)
  expect(await leftIn(url, objects)).toMatchObject([{ calls: 0, keys: expect.arrayContaining(['lastSeenAt']) }])
  await letPass(url, day / 24 + 2 * minute, objects)
  await conversation.answer()
  expect(conversation.heard.at(-1)).toBe('is answered with 404')
  expect(conversation.end).toBe(gone)
})

const reasons: Readonly<Record<string, string>> = {
  [lost]: 'the stream is the session and is lost with its connection: what is answered is done once, and not heard',
  [refused]: 'the state is refused: -32602, nothing is run',
  [timeout]: 'the call has ended: its questions are withdrawn, -32603, reason timeout',
}

/** What was seen: that it `goes on`, a letter for how it ends, or `ODD`. */
async function tableOfOutcomes(): Promise<string> {
  const letters = new Map(Object.keys(reasons).map((reason, at) => [reason, 'abc'[at] as string]))
  const headers = Object.values(columns).map(({ header }) => header)
  const table = [0, 1].map((line) => ['', ...headers.map((header) => header[line] as string)])
  for (const row of rows) {
    const cells = Object.entries(columns).map(async ([title, column]) => {
      const { heard, end } = (await columnOf(title)).seen.get(row) as Seen
      const expected = due(row, column)
      if (end !== expected.end || JSON.stringify(heard) !== JSON.stringify(expected.heard)) return 'ODD'
      return letters.get(String(end)) ?? 'goes on'
    })
    table.push([titleOf(row), ...(await Promise.all(cells))])
  }
  const width = Math.max(...rows.map((row) => titleOf(row).length)) + 2
  const lines = table.map(
    ([title = '', ...cells]) => title.padEnd(width) + cells.map((text) => text.padEnd(10)).join(''),
  )
  const notes = Object.entries(reasons).map(([reason, text]) => `${letters.get(reason)}: ${text}`)
  return [...lines.map((line) => line.trimEnd()), '', ...notes].join('\n')
}

test.runIf(isFull)(
  'the table lists the outcome of each row',
  async () => {
    const table = await tableOfOutcomes()
    console.log(`\n${table}\n`)
    expect(table).toBe(expected)
  },
  240_000,
)

const expected = `\
                                              evicted   evicted   killed    new       an hour   a day     a day     30 min    30 min
                                              closed    asleep    -9        code      each      at first  at last   at first  at last
2026-07-28 plain, one by one                  goes on   goes on   goes on   goes on   goes on   b         b         b         b
2026-07-28 plain, at once                     goes on   goes on   goes on   goes on   goes on   b         b         b         b
2026-07-28 single, one by one                 goes on   goes on   goes on   goes on   goes on   b         b         b         b
2026-07-28 single, at once                    goes on   goes on   goes on   goes on   goes on   b         b         b         b
2026-07-28 large journal, one by one          goes on   goes on   goes on   goes on   goes on   b         b         b         b
2026-07-28 large journal, at once             goes on   goes on   goes on   goes on   goes on   b         b         b         b
2026-07-28 single, large journal, one by one  goes on   goes on   goes on   goes on   goes on   b         b         b         b
2026-07-28 single, large journal, at once     goes on   goes on   goes on   goes on   goes on   b         b         b         b
2025-11-25 forms, one by one                  goes on   goes on   goes on   goes on   goes on   c         c         c         c
2025-11-25 forms, at once                     goes on   goes on   goes on   goes on   goes on   c         c         c         c
2025-11-25 forms, away meanwhile, one by one  goes on   goes on   goes on   goes on   goes on   c         c         c         c
2025-11-25 forms, away meanwhile, at once     goes on   goes on   goes on   goes on   goes on   c         c         c         c
2025-06-18 forms, one by one                  goes on   goes on   goes on   goes on   goes on   c         c         c         c
2025-06-18 forms, at once                     goes on   goes on   goes on   goes on   goes on   c         c         c         c
2025-03-26 sampling, one by one               goes on   goes on   goes on   goes on   goes on   c         c         c         c
2025-03-26 sampling, at once                  goes on   goes on   goes on   goes on   goes on   c         c         c         c
2024-11-05 sampling, HTTP+SSE, one by one     goes on   goes on   a         a         goes on   c         c         c         c
2024-11-05 sampling, HTTP+SSE, at once        goes on   goes on   a         a         goes on   c         c         c         c

a: the stream is the session and is lost with its connection: what is answered is done once, and not heard
b: the state is refused: -32602, nothing is run
c: the call has ended: its questions are withdrawn, -32603, reason timeout`
