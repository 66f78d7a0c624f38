/** Kills the whole server while it streams, over and over, and counts what its clients miss: nothing. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ServerProcess, serverProcess } from '../support/process.ts'
import { type Chance, chance } from '../support/random.ts'
import { type Diary, openDiary } from './diary.ts'
import { inTime } from './in-time.ts'
import { ask, bodyOf, events, onlyBroken, openSession, type Session } from './session.ts'
import { StreamedCall } from './streamed-call.ts'
import { judge, reruns, type Tool } from './verdict.ts'

/** Milliseconds a session's object lets pass before it looks after a call nobody has come back for. */
const alarmAfter = 20_000
/** Milliseconds that everything which is to happen after a restart may take. */
const patience = 60_000
/** Rounds a session lives for. */
const sessionRounds = 4

/** What a client did about a question. */
type Reply = { word: string; kills: number; taken: boolean }

/** A call whose client does not come back before the alarm of its session, due at this time, has run it again. */
type Absence = { call: StreamedCall; due: number; back: boolean }

export async function kill({ seed = 1, rounds = 100 } = {}): Promise<string> {
  const began = performance.now()
  await using diary = await openDiary()
  await using server = await serverProcess(({ port, data }) => ['test/chaos/serve.ts', port, data])
  const chaos = new Chaos(server, diary, chance(seed))
  await server.start()
  for (let round = 1; round <= rounds; round++) {
    try {
      await inTime(chaos.round(round), patience, `Round ${round}`)
    } catch (problem) {
      throw new Error(`Round ${round} with seed ${seed}: ${(problem as Error).message}`, { cause: problem })
    }
  }
  await inTime(chaos.everyAlarm(), patience, 'The last alarms')
  const { kills, inFlight, silent, results, interrupted, compared, lateness, absences } = chaos
  assert.ok(interrupted > 0 && chaos.reruns > 0 && inFlight > kills, 'The kills came when nothing was running')
  return [
    `${rounds} rounds, ${kills} kills, ${inFlight} calls in flight at a kill (${silent} of them without a word so far)`,
    `${results} results, ${interrupted} interrupted, ${chaos.reruns} re-runs, ${compared} events compared`,
    `${absences.length} calls of absent clients re-run by alarm, at most ${(lateness / 1000).toFixed(1)} s late`,
    `${((performance.now() - began) / 1000).toFixed(0)} s`,
  ].join('; ')
}

class Chaos {
  kills = 0
  inFlight = 0
  silent = 0
  results = 0
  interrupted = 0
  reruns = 0
  compared = 0
  lateness = 0
  readonly absences: Absence[] = []
  readonly #server: ServerProcess
  readonly #diary: Diary
  readonly #random: Chance
  readonly #sessions: { session: Session; born: number }[] = []
  readonly #replies = new Map<StreamedCall, Reply>()
  /** Resolves when the server is there. */
  #up = Promise.resolve()
  #upSince = 0
  readonly #trouble = Promise.withResolvers<never>()

  constructor(server: ServerProcess, diary: Diary, random: Chance) {
    this.#server = server
    this.#diary = diary
    this.#random = random
    // Whoever waits for a round hears of it.
    this.#trouble.promise.catch(() => {})
  }

  round(round: number): Promise<void> {
    return Promise.race([this.#round(round), this.#trouble.promise])
  }

  async #round(round: number): Promise<void> {
    const { between, whole, often } = this.#random
    while (this.#sessions.length < 4) {
      const session = await openSession(this.#server.url)
      // The first ones go one by one, so that afterwards there is one of each age.
      const born = round === 1 ? round - this.#sessions.length : round
      this.#sessions.push({ session, born })
    }
    const killAt = between(300, 1500)
    const calls = this.#sessions.flatMap(({ session }, at) => {
      const call = (id: number, tool: Tool, duration: number) => {
        const steps = whole(2, 25)
        const work = { key: `${round}.${at}.${id}`, steps, pause: duration / steps, diary: this.#diary.url }
        return new StreamedCall(session, id, tool, work)
      }
      return [
        call(1, 'count', 3 * killAt),
        call(2, 'count', between(0.6, 1.1) * killAt),
        call(3, 'put', between(0.2, 2) * killAt),
        call(4, 'pay', 3 * killAt),
        call(5, 'pay', between(0.6, 1.1) * killAt),
        call(6, 'ask', between(0.1, 0.8) * killAt),
        call(7, 'ask_safely', between(0.1, 0.8) * killAt),
      ]
    })
    const absent = await this.#absence(round)

    const { kills } = this
    const broken = calls.map(async (call) => {
      // Some are so late that they are lost before they have said a word.
      const start = often(0.1) ? between(0.95, 1.02) * killAt : between(0, 0.3) * killAt
      const [thought, isAnswered] = [between(0, 200), often(0.5)]
      await sleep(start)
      const asked = call.hears(() => call.question !== undefined)
      if (isAnswered) {
        const reply = () => (this.kills === kills ? this.#reply(call) : undefined)
        this.#beside(asked.then(() => sleep(thought).then(reply)))
      }
      await call.begin().catch(onlyBroken)
    })
    await Promise.all([sleep(killAt), absent.call.hears(() => absent.call.seen.size > 0)])
    const running = calls.filter((call) => !call.answer)
    this.inFlight += running.length + 1
    this.silent += running.filter((call) => call.stream === undefined).length
    await this.#restart()
    // Connections that were to be made while nobody listened have failed by now; the others were broken by the kill.
    await Promise.all(broken)

    const again = round % 5 === 0 ? sleep(between(0, 400)).then(() => this.#restart()) : undefined
    const known = calls.filter((call) => call.stream !== undefined)
    await Promise.all([again, ...known.map((call) => this.#comeBack(call))])
    await Promise.all(
      this.#sessions.map(async ({ session }) => {
        const own = calls.filter((call) => call.session === session)
        await this.#find(
          session,
          own.filter((call) => call.stream === undefined),
        )
        for (const call of own) if (call.stream !== undefined) await this.#judge(call)
        await this.#use(session)
      }),
    )
    await this.#visitAbsent()
    for (const { born } of [...this.#sessions]) if (round - born >= sessionRounds - 1) this.#sessions.shift()
  }

  /** Every call of an absent client is over, though none has come back. */
  async everyAlarm(): Promise<void> {
    const waiting = this.absences.filter(({ back }) => !back)
    await Promise.all(waiting.map(({ call }) => this.#diary.reaches(call.work.key, 2)))
    await this.#visitAbsent()
    assert.ok(this.absences.every(({ back }) => back))
  }

  async #restart(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#up = promise
    await this.#server.kill()
    this.kills += 1
    await this.#server.start()
    this.#upSince = Date.now()
    resolve()
  }

  // What clients do

  /** A call whose client will be gone when it is lost. */
  async #absence(round: number): Promise<Absence> {
    const session = await openSession(this.#server.url)
    const work = { key: `${round}.absent`, steps: 3, pause: 10, hold: 10 * patience, diary: this.#diary.url }
    const call = new StreamedCall(session, 1, 'count', work)
    const absence = { call, due: Date.now() + alarmAfter, back: false }
    this.#beside(call.begin())
    this.absences.push(absence)
    return absence
  }

  async #reply(call: StreamedCall): Promise<void> {
    const reply = this.#replies.get(call) ?? { word: call.work.key, kills: this.kills, taken: false }
    this.#replies.set(call, reply)
    const result = { action: 'accept', content: { word: reply.word } }
    const response = await call.session.post({ id: call.question?.id, result })
    assert.equal(response.statusCode, 202, `The answer to ${call.name} was refused: ${await bodyOf(response)}`)
    reply.taken = true
  }

  /** Follows a call to its end, whatever happens on the way. */
  async #comeBack(call: StreamedCall): Promise<void> {
    const replied = (async () => {
      await call.hears(() => call.question !== undefined || call.answer !== undefined)
      while (call.question && !call.answer && !this.#replies.get(call)?.taken) {
        await this.#up
        await this.#reply(call).catch(onlyBroken)
      }
    })()
    while (!call.answer) {
      await this.#up
      await call.resume().catch(onlyBroken)
    }
    await replied
  }

  /** Calls whose first word did not arrive: those that had one are found by the number of their stream. */
  async #find(session: Session, lost: StreamedCall[]): Promise<void> {
    const unheard = new Set(lost)
    for (let stream = 1; unheard.size > 0; stream++) {
      if (session.streams.has(stream)) continue
      const response = await session.resume(`${stream}.0`)
      if (response.statusCode === 400) {
        response.destroy()
        return
      }
      let first = ''
      for await (const { data = '' } of events(response)) {
        first = data
        if (first !== '') break
      }
      response.destroy()
      const call = lost.find(({ work }) => first.includes(`"progressToken":"${work.key}"`))
      assert.ok(call, `Nobody knows stream ${stream}: ${first}`)
      unheard.delete(call)
      call.stream = stream
      call.lastId = `${stream}.0`
      session.streams.add(stream)
      await this.#comeBack(call)
    }
  }

  /** Every id is free, and the session answers. */
  async #use(session: Session): Promise<void> {
    assert.ok('result' in (await ask(session, { id: 1, method: 'ping' })), 'A session is stuck')
    for (let id = 1; id <= 7; id++) {
      const answer = await ask(session, { id, method: 'tools/call', params: { name: 'version', arguments: {} } })
      assert.ok('result' in answer, `The id ${id} is not free: ${JSON.stringify(answer)}`)
    }
  }

  /** Absent clients come back once the alarm of their session has done its work, and find the answer. */
  async #visitAbsent(): Promise<void> {
    for (const absence of this.absences) {
      const { call, due } = absence
      if (absence.back) continue
      if (this.#diary.runs(call.work.key) < 2) {
        const late = Date.now() - Math.max(due, this.#upSince)
        assert.ok(late < alarmAfter, `${call.name} was not run again ${late} ms after its alarm was due`)
        continue
      }
      absence.back = true
      this.lateness = Math.max(this.lateness, (await this.#diary.reaches(call.work.key, 2)) - due)
      await this.#comeBack(call)
      await this.#judge(call)
      await this.#use(call.session)
    }
  }

  async #judge(call: StreamedCall): Promise<void> {
    const runs = this.#diary.runs(call.work.key)
    const reply = this.#replies.get(call)
    const killedSinceReply = reply !== undefined && reply.kills < this.kills
    const verdict = judge(call, { runs, word: reply?.word, killedSinceReply })
    if (verdict === 'result') this.results += 1
    else this.interrupted += 1
    this.reruns += reruns(call, runs)
    const newest = call.seen.size
    for (const after of new Set([0, this.#random.whole(0, newest), newest])) await call.compare(after)
    this.compared += call.compared
  }

  /** Something beside a round. When it fails, the round has failed. */
  #beside(work: Promise<unknown>): void {
    work.catch(onlyBroken).catch(this.#trouble.reject)
  }
}
