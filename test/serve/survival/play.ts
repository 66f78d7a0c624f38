/** Plays many conversations side by side; what happens, happens to all of them between two rounds. */
import { vi } from 'vitest'
import type { Conversation } from './conversation.ts'
import type { Diary } from './diary.ts'
import type { Left } from './left.ts'
import { birthsIn, leftIn, letPass, type Stage } from './stages.ts'

export type Happening = {
  start(): Promise<Stage>
  /** After how many answers it happens. */
  after: readonly number[]
  /** Milliseconds in which answers are wanted. */
  timeout?: number
  /** It comes before the next answer, and too late for it. */
  late?: boolean
}

/** What became of one conversation. */
export type Seen = Pick<Conversation, 'heard' | 'end' | 'returns'> & {
  /** What was said again, each time that something happened, was the same. */
  again: readonly (boolean | undefined)[]
  /** How often the handler was run from the top. */
  runs: number
  payments: number
}

export type Played<Row> = {
  seen: ReadonlyMap<Row, Seen>
  /** How often each object that was needed was born. */
  births: readonly number[]
  /** What the objects hold when all clients are gone. */
  left: readonly Left[]
  /** What they hold when all of their time is over. */
  inTheEnd: readonly Left[]
  /** Milliseconds: how far the objects' clocks have been put forward. */
  passed: number
}

/** Milliseconds: nothing is kept for longer. */
const week = 7 * 24 * 60 * 60_000
const waiting = { timeout: 60_000, interval: 50 }

/** How many answers a conversation takes. */
const answers = 2

export async function play<Row>(
  { start, after, timeout, late }: Happening,
  rows: readonly Row[],
  open: (row: Row, url: URL, timeout: number | undefined) => Conversation,
  diary: Diary,
): Promise<Played<Row>> {
  await using stage = await start()
  const { url } = stage
  const others = new Set(Object.keys(await birthsIn(url)))
  const objects = new Set<string>()
  const plays = rows.map((row) => ({
    row,
    conversation: open(row, url, timeout),
    /** The objects that its first request needed. */
    own: [] as string[],
    again: [] as (boolean | undefined)[],
  }))

  const all = async (step: (play: (typeof plays)[number]) => Promise<void>) => {
    await Promise.all(plays.map(step))
    for (const name of Object.keys(await birthsIn(url))) if (!others.has(name)) objects.add(name)
  }
  const sockets = async (names: Iterable<string> = objects) =>
    (await leftIn(url, [...names])).reduce((sum, { sockets }) => sum + sockets, 0)
  const leave = async ({ conversation, own }: (typeof plays)[number]) => {
    if (!conversation.leaves) return
    // A stream gets its socket some time after its first events.
    await vi.waitUntil(async () => (await sockets(own)) === 1, waiting)
    conversation.leave()
    await vi.waitUntil(async () => (await sockets(own)) === 0, waiting)
  }
  const happen = async () => {
    await Promise.all(plays.map(leave))
    await stage.happen([...objects])
    if (!late) await all(async ({ conversation, again }) => void again.push(await conversation.again()))
  }

  for (const { conversation, own } of plays) {
    await conversation.begin()
    const names = Object.keys(await birthsIn(url)).filter((name) => !others.has(name) && !objects.has(name))
    own.push(...names)
    for (const name of names) objects.add(name)
  }
  const last = late ? Math.max(...after) + 1 : answers
  for (let answered = 0; answered < last; answered++) {
    if (after.includes(answered)) await happen()
    await all(async ({ conversation }) => {
      if (conversation.end === undefined) await conversation.answer()
    })
  }
  await all(({ conversation }) => conversation.finish())
  if (after.includes(last)) await happen()

  const names = [...objects]
  const passed = Math.min(...(await leftIn(url, names)).map(({ clock }) => clock)) - Date.now()
  const births = await birthsIn(url)
  await Promise.all(plays.map(({ conversation }) => conversation.close()))
  await vi.waitUntil(async () => (await sockets()) === 0, waiting)
  const left = await leftIn(url, names)
  // Twice: what lapses may leave something that lapses.
  for (let weeks = 0; weeks < 2; weeks++) await letPass(url, week + 60_000, names)
  const inTheEnd = await leftIn(url, names)
  const seen = new Map(
    plays.map(({ row, conversation, again }) => {
      const { traveller, heard, end, returns } = conversation
      const [runs, payments] = [diary.runs(`${traveller} is heard`), diary.runs(`${traveller} pays`)]
      return [row, { heard, end, returns, again, runs, payments }]
    }),
  )
  return { seen, births: names.map((name) => births[name] ?? 0), left, inTheEnd, passed }
}
