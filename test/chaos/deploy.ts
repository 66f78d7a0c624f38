/** New code while a hundred streams run: what their clients miss, nothing, and what they see of the change. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sdk20250326 } from '../clients/2025-03-26.ts'
import { sdk20250618 } from '../clients/2025-06-18.ts'
import { sdk20251125 } from '../clients/2025-11-25.ts'
import { legacy } from '../clients/2026-07-28.ts'
import type { Client, Generation } from '../clients/generation.ts'
import { startWithWrangler } from '../support/server.ts'
import { type Diary, openDiary } from './diary.ts'
import { inTime } from './in-time.ts'
import { ask, events, onlyBroken, openSession, type Session } from './session.ts'
import { StreamedCall, type Work } from './streamed-call.ts'
import { reruns } from './verdict.ts'

const root = resolve(import.meta.dirname, '../..')
const versions = ['test/chaos/server', 'test/chaos/server/next'] as const
const published: readonly Generation[] = [sdk20251125, legacy, sdk20250618, sdk20250326]
/** Calls at once: of each published client, and of clients of our own. */
const [callsEach, ownCalls] = [5, 80]
const deploys = 8
/** Events of a call before its answer. */
const steps = 40
/** Milliseconds one deploy and everything after it may take. */
const patience = 60_000

export async function deploy(): Promise<string> {
  const began = performance.now()
  await using diary = await openDiary()
  await using server = await startWithWrangler(versions[0])
  const streams = new Streams(server.url, diary)
  for (let number = 1; number <= deploys; number++) {
    const folder = versions[number % 2] as string
    const update = () => server.harness.update({ root, workers: [{ configPath: `${folder}/wrangler.toml` }] })
    await inTime(streams.outlive(update, number), patience, `Deploy ${number}`)
  }
  const { cuts, resumed, events, results, reruns, complaints } = streams
  assert.ok(reruns > 0, 'Nothing was running when the code changed')
  return [
    `${deploys} deploys under ${ownCalls + callsEach * published.length} streams each`,
    `the local runtime cut ${cuts} connections of our own clients (${resumed} resumed with Last-Event-ID)`,
    `published clients noticed ${complaints} cuts and resumed by themselves`,
    `${results} results, ${reruns} re-runs, no errors, ${events} events, each once and in order`,
    `${((performance.now() - began) / 1000).toFixed(0)} s`,
  ].join('; ')
}

class Streams {
  cuts = 0
  resumed = 0
  events = 0
  results = 0
  reruns = 0
  complaints = 0
  readonly #url: URL
  readonly #diary: Diary

  constructor(url: URL, diary: Diary) {
    this.#url = url
    this.#diary = diary
  }

  /** Streams that begin before an update and end after it. */
  async outlive(update: () => Promise<void>, number: number): Promise<void> {
    const version = String(1 + (number % 2))
    const work = (key: string): Work => ({ key: `${number}.${key}`, steps, pause: 150, diary: this.#diary.url })

    const sessions = await Promise.all(Array.from({ length: ownCalls / 3 }, () => openSession(this.#url)))
    const calls = sessions.flatMap((session, at) =>
      ['count', 'put', 'ask_safely'].map((tool, id) => new StreamedCall(session, id, tool, work(`${at}.${id}`))),
    )
    const clients = await Promise.all(published.map((generation) => generation.connect(this.#url, {})))
    const ownEnds = calls.map((call) => this.#follow(call))
    const ends = clients.map((client, at) =>
      Promise.all(
        Array.from({ length: callsEach }, (_, id) =>
          client.call('count', work(`client${at}.${id}`), { onProgress() {}, timeout: patience }),
        ),
      ),
    )
    const keys = clients.flatMap((_, at) => Array.from({ length: callsEach }, (_, id) => work(`client${at}.${id}`).key))
    const [session] = sessions as [Session]
    const callTool = (name: string) => ask(session, { id: 9, method: 'tools/call', params: { name, arguments: {} } })
    const standing = await session.listen()
    const change = async () => {
      // Every stream has begun, and is not over before the code changes.
      await Promise.all(calls.map((call) => call.hears(() => call.progress.length > 2)))
      await Promise.all(keys.map((key) => this.#diary.reaches(key, 1)))
      assert.ok(calls.every((call) => !call.answer && this.#diary.runs(call.work.key) === 1))
      await callTool('announce')
      await update()
      // Nobody may have come back yet.
      await callTool('announce')
    }
    const [changes] = await Promise.all([this.#hear(session, standing, 2), change(), ...ownEnds, ...ends])
    assert.deepEqual(changes, ['0.1', '0.2'], 'A standing stream has a gap')
    assert.deepEqual(await callTool('version'), {
      jsonrpc: '2.0',
      id: 9,
      result: { content: [{ type: 'text', text: version }] },
    })

    for (const call of calls) await this.#judge(call)
    for (const [at, client] of clients.entries()) {
      const generation = published[at] as Generation
      await this.#judgeClient(generation, client, await (ends[at] as (typeof ends)[0]))
      assert.equal((await client.tools()).includes('news'), version === '2', `${generation.name} sees the old tools`)
      await client.close()
    }
    for (const call of calls) this.reruns += reruns(call, this.#diary.runs(call.work.key))
    for (const key of keys) this.reruns += this.#diary.runs(key) - 1
  }

  /** What a good client does: it comes back with the last id, after the time that the server has asked for. */
  async #follow(call: StreamedCall): Promise<void> {
    const answered = call
      .hears(() => call.question !== undefined)
      .then(() => call.session.post({ id: call.question?.id, result: { action: 'accept', content: { word: 'yes' } } }))
    answered.then((response) => assert.equal(response.statusCode, 202))
    await call.begin().catch(onlyBroken)
    while (!call.answer) {
      assert.ok(call.lastId, `${call.name} has no way back`)
      this.cuts += 1
      await sleep(call.retry)
      await call.resume().then(() => {
        this.resumed += 1
      }, onlyBroken)
    }
  }

  /** The ids of the first changes that are heard on a standing stream, over as many connections as it takes. */
  async #hear(session: Session, first: IncomingMessage, changes: number): Promise<string[]> {
    const heard: string[] = []
    let [response, lastId, retry] = [first, '', 0]
    for (;;) {
      try {
        for await (const event of events(response)) {
          lastId = event.id
          retry = event.retry ?? retry
          if (event.data !== undefined) heard.push(event.id)
          if (heard.length === changes) return heard
        }
      } catch (problem) {
        onlyBroken(problem)
      }
      this.cuts += 1
      await sleep(retry)
      response = await session.resume(lastId)
      assert.equal(response.statusCode, 200, 'A standing stream cannot be resumed')
      this.resumed += 1
    }
  }

  async #judge(call: StreamedCall): Promise<void> {
    assert.ok(call.answer && 'result' in call.answer, `${call.name} ended with ${JSON.stringify(call.answer)}`)
    assert.equal(call.progress.length, call.question ? 2 * steps : steps)
    await call.compare(0)
    this.results += 1
    this.events += call.seen.size
  }

  /** Messages as the client's transport handed them on: 1.x clients lose progress that comes along with an answer. */
  async #judgeClient({ name }: Generation, client: Client, results: Awaited<ReturnType<Client['call']>>[]) {
    assert.ok(
      results.every(({ failed }) => !failed),
      `${name} got an error`,
    )
    const progress = new Map<unknown, unknown[]>()
    for (const { method, params } of client.heard) {
      if (method !== 'notifications/progress') continue
      progress.set(params?.progressToken, [...(progress.get(params?.progressToken) ?? []), params?.progress])
    }
    assert.equal(progress.size, callsEach)
    const complete = Array.from({ length: steps }, (_, step) => step + 1)
    for (const heard of progress.values()) assert.deepEqual(heard, complete, `${name} heard something else`)
    for (const { message } of client.complaints) {
      assert.match(message, /^SSE stream disconnected/, `${name} complains`)
      this.complaints += 1
    }
    this.results += results.length
    this.events += (steps + 1) * results.length
  }
}
