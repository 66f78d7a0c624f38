/**
 * Streams under random schedules: calls go on, ask, are answered, lost and cancelled, clients leave and come back with any
 * id they know, Session objects are evicted, and every stream must bring what the model says, to the byte.
 *
 * The simulation plays many more, with crashes.
 * `REPLAY_SEEDS=17` plays one schedule again, `REPLAY_SEEDS=1000-3000` others than usual.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ServerWithObjects, startWithObjects } from '../support/objects.ts'
import { type Chance, chance } from '../support/random.ts'
import { Session, type Step } from './replay/session.ts'
import type { Stream } from './replay/stream.ts'

let server: ServerWithObjects
beforeAll(async () => {
  server = await startWithObjects('test/serve/replay')
})
afterAll(() => server[Symbol.asyncDispose]())

/** One thing that happens. What happens at the same time touches other streams; nothing goes with `alone` in a session. */
type Move = { says: string; touches: readonly Stream[]; alone?: Session; play(): Promise<void> }

const touches = (one: Move, other: Move): boolean =>
  one.touches.some((stream) => other.touches.includes(stream) || stream.line === other.alone)

class Case {
  readonly sessions: Session[]
  readonly told: string[] = []
  readonly failed: Promise<never>
  readonly #by: Chance
  readonly #notes: string[]
  readonly #fail: (problem: string) => void

  constructor(seed: number) {
    const by = chance(seed)
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => {})
    this.#by = by
    this.failed = promise
    this.#fail = (problem) => {
      const schedule = this.told.map((line) => `  ${line}`).join('\n')
      reject(new Error(`${problem}\nREPLAY_SEEDS=${seed} (${revision}):\n${schedule}`))
    }
    const revision = by.rarely(5) ? '2025-06-18' : '2025-11-25'
    const names = by.rarely(4) ? ['Ada', 'Bob'] : ['Ada']
    this.sessions = names.map((name) => new Session(`${name} ${seed}`, revision, server, this.#fail))
    this.#notes = [`all-${seed}`, ...names.map((name) => `${name}-${seed}`)]
  }

  async play(): Promise<void> {
    const by = this.#by
    try {
      for (const [index, session] of this.sessions.entries()) {
        await session.open([this.#notes[0] as string, this.#notes[index + 1] as string])
      }
      for (let round = 3 + by.below(6); round > 0; round--) {
        const moves: Move[] = []
        for (let count = by.one([1, 1, 2, 3]); count > 0; count--) {
          const move = this.#draw()
          if (move && !moves.some((other) => touches(move, other) || touches(other, move))) moves.push(move)
        }
        if (moves.length > 0) this.told.push(moves.map(({ says }) => says).join(' | '))
        await Promise.all(moves.map((move) => move.play()))
      }
      for (const session of this.sessions) await this.#finish(session)
    } catch (thrown) {
      this.#fail((thrown as Error).stack ?? String(thrown))
    }
  }

  #draw(): Move | undefined {
    const by = this.#by
    const session = by.one(this.sessions)
    const moves: [number, () => Move | undefined][] = [
      [4, () => this.#call(session)],
      [7, () => this.#answer(session)],
      [5, () => this.#release(session)],
      [1, () => this.#cancel(session)],
      [4, () => this.#leave(session)],
      [5, () => this.#comeBack(session)],
      [2, () => this.#hearAgain(session)],
      [2, () => this.#listen(session)],
      [4, () => this.#change(session)],
      [3, () => this.#evict(session, 'hibernate')],
      [3, () => this.#evict(session, 'close')],
      [1, () => this.#unknown(session)],
    ]
    return by.one(moves.flatMap(([weight, move]) => Array(weight).fill(move)))()
  }

  // Calls

  #call(session: Session): Move | undefined {
    const by = this.#by
    if (session.calls.length === 4) return undefined
    const id = by.one([session.calls.length + 1, `${session.calls.length + 1}`])
    const first: Step = by.one(['report', 'report', 'log', 'ask', 'ask together'])
    const rest = by.some<Step>(1, 5, () =>
      by.one(['report', 'report', 'log', 'ask', 'ask', 'ask together', 'wait', 'wait', 'leave']),
    )
    const name = `${session.name}.${session.calls.length + 1}`
    const call = session.add({ id, name, steps: [first, ...rest], isSafeToRetry: by.rarely(2) })
    const { stream } = call
    return {
      says: `${session.name} calls ${call.isSafeToRetry ? 'again and again' : 'once'} ${call.steps.join(', ')}`,
      touches: [stream],
      async play() {
        const awayAfter = session.advance(call)
        const stop = new AbortController()
        const params = {
          name: call.isSafeToRetry ? 'act_again' : 'act',
          arguments: { name, steps: call.steps },
          _meta: { progressToken: name },
        }
        const response = await session.post({ id, method: 'tools/call', params }, stop.signal)
        stream.connection = stream.attach(response, stop, 0, session.polling)
        if (awayAfter === undefined) return
        // It is sent away as soon as it has come, after what was said before.
        stream.connection.endsAfter = awayAfter
        stream.connection.isSentAway = true
      },
    }
  }

  #answer(session: Session, calls = session.calls): Move | undefined {
    const by = this.#by
    const call = some(by, calls, ({ open }) => open.length > 0)
    if (!call) return undefined
    const { stream } = call
    const question = by.one(call.open)
    const number = stream.carries.indexOf(`asks ${question}`) + 1
    const [stays, chance, isTwice] = [by.rarely(2), by.below(1000) / 1000, by.rarely(5)]
    return {
      says: `${session.name} answers "${question}"${isTwice ? ' twice' : ''}`,
      touches: [stream],
      async play() {
        if (!(stays && stream.known.has(number))) {
          if (!stream.isHeard) await stream.comeBack(chance)
          if (stream.connection) await stream.hear(stream.connection, number)
        }
        call.open = call.open.filter((open) => open !== question)
        if (call.open.length === 0) session.advance(call)
        const answer = { id: session.idOf(question), result: { action: 'accept', content: { word: 'yes' } } }
        await session.tell(answer)
        if (isTwice) await session.tell(answer)
      },
    }
  }

  #release(session: Session, calls = session.calls): Move | undefined {
    const call = some(this.#by, calls, ({ isWaiting, stream }) => isWaiting && !stream.isOver)
    return (
      call && {
        says: `${call.name} goes on`,
        touches: [call.stream],
        play() {
          session.advance(call)
          return session.ask('tools/call', { name: 'release', arguments: { name: call.name } })
        },
      }
    )
  }

  #cancel(session: Session): Move | undefined {
    const call = some(this.#by, session.calls, ({ stream }) => stream.last > 0 && !stream.isOver)
    if (!call) return undefined
    const { stream } = call
    return {
      says: `${session.name} cancels ${call.name}`,
      touches: [stream],
      async play() {
        stream.carries.push(...call.open.map((question) => `withdraws ${question}`))
        call.open = []
        stream.isOver = true
        await session.tell({ method: 'notifications/cancelled', params: { requestId: call.id } })
      },
    }
  }

  // Connections

  #leave(session: Session): Move | undefined {
    const by = this.#by
    const stream = some(by, session.streams, ({ isHeard }) => isHeard)
    if (!stream?.connection) return undefined
    const { connection, known, last } = stream
    // Without an id a client cannot come back.
    const least =
      connection.after +
      (connection.isPrimed || known.has(connection.after) || stream.last === connection.after ? 0 : 1)
    const number = least + by.below(last - least + 1)
    return {
      says: `${session.name} leaves ${stream.name} after event ${number}`,
      touches: [stream],
      async play() {
        await stream.hear(connection, number)
        stream.leave()
      },
    }
  }

  #comeBack(session: Session): Move | undefined {
    const by = this.#by
    const stream = some(by, session.streams, ({ known, isOver }) => known.size > 0 && !isOver)
    const chance = by.below(1000) / 1000
    return (
      stream && {
        says: `${session.name} comes back to ${stream.name} after event ${stream.knownAt(chance)}`,
        touches: [stream],
        play: () => stream.comeBack(chance),
      }
    )
  }

  #hearAgain(session: Session): Move | undefined {
    const by = this.#by
    const stream = some(by, session.streams, ({ known, isOver }) => known.size > 0 && isOver)
    if (!stream) return undefined
    const after = by.some(1, 3, () => by.one([...stream.known]))
    return {
      says: `${session.name} hears ${stream.name} again after events ${after.join(', ')}`,
      touches: [stream],
      play: () => hearAgain(stream, after),
    }
  }

  #listen(session: Session): Move | undefined {
    const { standing, polling, wasCut } = session
    // A client that has no id yet could not explain which of its connections it means.
    if (!polling && wasCut && (standing.left > 0 || standing.connection)) return undefined
    return {
      says: `${session.name} listens`,
      touches: [standing],
      play: () => listen(session),
    }
  }

  #change(session: Session): Move {
    const id = this.#by.one(this.#notes)
    const { sessions } = this
    return {
      says: `${session.name} changes ${id}`,
      touches: sessions.map(({ standing }) => standing),
      play: () => change(session, id, sessions),
    }
  }

  // Trouble

  #evict(session: Session, webSockets: 'close' | 'hibernate'): Move | undefined {
    const { standing, polling, calls, name } = session
    // A call that runs keeps its object in memory. The simulation loses such objects.
    if (calls.some(({ isWaiting, stream }) => isWaiting && !stream.isOver)) return undefined
    const times = webSockets === 'close' && this.#by.rarely(3) ? 2 : 1
    if (webSockets === 'close' && !polling && standing.left > 0 && standing.connection) return undefined
    const kind = webSockets === 'close' ? 'with its sockets' : 'behind its sockets'
    const own = [...session.notes][1]
    const changed = own !== undefined && this.#by.rarely(2) ? own : undefined
    return {
      says: `the object of ${name} is evicted ${kind}${times === 2 ? ', twice' : ''}${changed ? `, and ${changed} changes` : ''}`,
      touches: session.streams,
      alone: session,
      async play() {
        await session.evict(webSockets, times)
        // At once: before anybody has dialled again.
        if (changed) await change(session, changed, [session])
      },
    }
  }

  #unknown(session: Session): Move {
    const by = this.#by
    const stream = by.one(session.streams)
    const known = stream.ids.findLast((id) => id !== undefined)
    const id = by.one([
      ...(known ? [idAfter(known, 1 + stream.last - stream.ids.lastIndexOf(known))] : []),
      '99.1',
      '1.-1',
      'x',
    ])
    return {
      says: `${session.name} comes back after ${id}, which nobody gave it`,
      touches: [stream],
      play: () => expectStatus(session, id, 400),
    }
  }

  // The end

  async #finish(session: Session): Promise<void> {
    const by = this.#by
    for (const call of session.calls.filter(({ stream }) => stream.last > 0)) {
      while (!call.stream.isOver) {
        const move = (this.#release(session, [call]) ?? this.#answer(session, [call])) as Move
        this.told.push(move.says)
        await move.play()
      }
    }
    const { standing } = session
    if (session.isListening) {
      const chance = by.below(1000) / 1000
      this.told.push(`${session.name} hears its standing stream`)
      if (!standing.isHeard) await (standing.known.size > 0 ? standing.comeBack(chance) : listen(session))
      // What comes before it would be something that nobody said.
      await change(session, this.#notes[0] as string, this.sessions)
      if (standing.connection) await standing.hear(standing.connection, standing.last)
      await standing.comeBack(0)
      if (standing.connection) await standing.hear(standing.connection, standing.last)
    }
    for (const { stream } of session.calls.filter(({ stream }) => stream.last > 0)) {
      const { connection } = stream
      this.told.push(`${session.name} hears ${stream.name} to its end`)
      if (connection) await stream.hearOut(connection)
      await hearAgain(stream, [stream.knownAt(0), stream.knownAt(by.below(1000) / 1000)])
      await hearAgain(stream, [stream.last])
      if (by.rarely(3)) await expectStatus(session, idAfter(stream.ids[stream.last] as string, 1), 400)
    }
    const ids = session.streams.flatMap((stream) => stream.ids.filter((id) => id !== undefined))
    if (new Set(ids).size < ids.length) session.fail(`${session.name} has events of the same id`)
    if (by.rarely(6)) {
      this.told.push(`${session.name} ends`)
      if (standing.connection) standing.connection.endsAfter = standing.last
      await session.end()
      if (standing.connection) await standing.connection.untilEnd()
      for (const id of ids.slice(0, 1)) await expectStatus(session, id, 404)
    }
    standing.leave()
  }
}

function some<T>(by: Chance, of: readonly T[], is: (each: T) => boolean): T | undefined {
  const those = of.filter(is)
  return those.length > 0 ? by.one(those) : undefined
}

const idAfter = (id: string, steps: number) => id.replace(/\d+$/, (seq) => `${Number(seq) + steps}`)

async function expectStatus(session: Session, id: string, due: number): Promise<void> {
  const status = await session.statusAfter(id)
  if (status !== due) session.fail(`${session.name} comes back after ${id} and is answered ${status}, not ${due}`)
}

/** A stream that is over brings what comes after each event, however often it is asked; after the last, nothing. */
async function hearAgain(stream: Stream, after: readonly number[]): Promise<void> {
  await Promise.all(
    after.map(async (number) => {
      if (number === stream.last) return expectStatus(stream.line as Session, stream.ids[number] as string, 405)
      await stream.hearOut(await stream.resume(number))
    }),
  )
}

async function listen(session: Session): Promise<void> {
  const { standing } = session
  await standing.replace(async () => {
    const stop = new AbortController()
    const response = await session.get(undefined, stop.signal)
    return standing.attach(response, stop, standing.last, session.polling)
  })
  session.isListening = true
}

/** Milliseconds within which the same change, announced again and again, is told once more and not each time. */
const together = 100
/** When each note was announced last. */
const announced = new Map<string, number>()

async function change(session: Session, id: string, sessions: readonly Session[]): Promise<void> {
  // What a listener hears of a note must not depend on how fast this machine is.
  const over = (announced.get(id) ?? Number.NEGATIVE_INFINITY) + 1.5 * together
  if (over > performance.now()) await pause(over - performance.now())
  for (const { notes, isListening, standing } of sessions) {
    if (isListening && notes.has(id)) standing.carries.push(`changes note://${id}`)
  }
  await session.ask('tools/call', { name: 'change', arguments: { id } })
  announced.set(id, performance.now())
}

function seeds(): number[] {
  const [first = 1, last = first] = (process.env.REPLAY_SEEDS ?? '1-30').split('-').map(Number)
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

const all = seeds()

test(
  'each client gets each event of its streams once and in order, whatever connections and objects are lost',
  async () => {
    const waiting = [...all]
    let played = 0
    async function work(): Promise<void> {
      for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
        const one = new Case(seed)
        await Promise.race([one.play(), one.failed])
        played += 1
      }
    }
    await Promise.all(Array.from({ length: 12 }, work))
    expect(played).toBe(all.length)
  },
  120_000 + all.length * 2_000,
)
