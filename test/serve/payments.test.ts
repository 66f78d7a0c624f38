/**
 * A payment under random schedules: rounds are sent again, answers come twice, replies are lost, people decline, calls are
 * cancelled, Session objects are evicted and lost. Whoever says yes is charged once and told the receipt; nobody else is.
 *
 * `npm run test:slow` plays ten times as many schedules as `npm test`.
 * `PAYMENT_SEEDS=17` plays one schedule of each kind again, `PAYMENT_SEEDS=2000-4000` others than usual.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWithObjects } from '../support/objects.ts'
import { type Chance, chance } from '../support/random.ts'
import { SessionPayment } from './payments/in-session.ts'
import type { Conversation, Endpoint, Fail, Move } from './payments/scene.ts'
import { Session } from './payments/session.ts'
import { StatelessPayment, type Tool } from './payments/stateless.ts'

const tools: readonly Tool[] = [
  { name: 'transfer', charges: 'each run', isSingle: false },
  { name: 'transfer_by_order', charges: 'each order', isSingle: false },
  { name: 'transfer_once', charges: 'each run', isSingle: true },
]

let server: Endpoint
beforeAll(async () => {
  const started = await startWithObjects('test/serve/payments')
  server = {
    ...started,
    async lose(name) {
      await fetch(new URL(`/lose?session=${name}`, started.url))
    },
  }
})
afterAll(() => server[Symbol.asyncDispose]())

/** What the bank has charged, by whom it was for. */
async function receiptsByName(): Promise<ReadonlyMap<string, string[]>> {
  const charges = (await (await fetch(new URL('/receipts', server.url))).json()) as [to: string, receipt: string][]
  const byName = Map.groupBy(charges, ([to]) => to)
  return new Map([...byName].map(([to, those]) => [to, those.map(([, receipt]) => receipt)]))
}

type People = (by: Chance, seed: number, fail: Fail) => Promise<Conversation[]>

/** Without a session each state is used once; in a session everything is repeated, lost and cancelled. */
const honest: People = async (by, seed, fail) => {
  const tool = by.one(tools)
  const names = by.some(1, 2, (index) => `honest ${seed}.${index + 1}`)
  if (by.often(0.5)) return names.map((to) => new StatelessPayment(to, tool, server.url, by, fail, false))
  const session = new Session(`session ${seed}`, by.one(['2025-11-25', '2025-06-18']), server, fail)
  await session.open()
  return names.map((to) => new SessionPayment(to, tool.name, session, by, fail))
}

/** States are used again, and questions answered that were not asked. */
const repeating: People = async (by, seed, fail) => {
  const tool = by.one(tools)
  const names = by.some(1, 2, (index) => `repeating ${seed}.${index + 1}`)
  return names.map((to) => new StatelessPayment(to, tool, server.url, by, fail, true))
}

class Case {
  readonly told: string[] = []
  conversations: Conversation[] = []
  readonly #seed: number
  readonly #people: People
  readonly #failed = Promise.withResolvers<never>()
  #problem: Error | undefined

  constructor(seed: number, people: People) {
    this.#failed.promise.catch(() => {})
    this.#seed = seed
    this.#people = people
  }

  /** @throws the first thing that was wrong, with all that had been done until then */
  async play(): Promise<void> {
    await Promise.race([this.#play(), this.#failed.promise])
    if (this.#problem) throw this.#problem
  }

  /** Holds what the bank has charged in the end against what was said: what is charged late is charged all the same. */
  check(receipts: ReadonlyMap<string, readonly string[]>): void {
    for (const conversation of this.conversations) conversation.check(receipts.get(conversation.to) ?? [])
    if (this.#problem) throw this.#problem
  }

  readonly #fail = (problem: string): void => {
    const schedule = this.told.map((line) => `  ${line}`).join('\n')
    this.#problem ??= new Error(`${problem}\nPAYMENT_SEEDS=${this.#seed}:\n${schedule}`)
    this.#failed.reject(this.#problem)
  }

  async #play(): Promise<void> {
    const by = chance(this.#seed)
    try {
      this.conversations = await this.#people(by, this.#seed, this.#fail)
      for (let round = by.whole(2, 7); round > 0; round--) {
        const together = by.rarely(2) ? this.conversations : [by.one(this.conversations)]
        const moves = together.flatMap((conversation) => conversation.draw() ?? [])
        await this.#together(moves.filter((move) => !move.alone))
        for (const move of moves.filter((move) => move.alone)) await this.#together([move])
      }
      for (const conversation of this.conversations) {
        for (let move = conversation.finish(); move; move = conversation.finish()) await this.#together([move])
      }
    } catch (thrown) {
      this.#fail((thrown as Error).stack ?? String(thrown))
    }
  }

  async #together(moves: readonly Move[]): Promise<void> {
    if (moves.length > 0) this.told.push(moves.map(({ says }) => says).join(' | '))
    await Promise.all(moves.map((move) => move.play()))
  }
}

function seeds(usual: number): number[] {
  const [first = 1, last = first] = (process.env.PAYMENT_SEEDS ?? `1-${usual}`).split('-').map(Number)
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

async function playAll(people: People, all: readonly number[]): Promise<void> {
  const waiting = [...all]
  const played: Case[] = []
  async function work(): Promise<void> {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      const one = new Case(seed, people)
      await one.play()
      played.push(one)
    }
  }
  await Promise.all(Array.from({ length: 12 }, work))
  expect(played).toHaveLength(all.length)
  const receipts = await receiptsByName()
  for (const one of played) one.check(receipts)
}

const timeout = (all: readonly number[]) => 120_000 + all.length * 2_000

const honestSeeds = seeds(36)
test(
  'a user who consents is charged once and gets the receipt, whatever requests are repeated, lost or cancelled',
  () => playAll(honest, honestSeeds),
  timeout(honestSeeds),
)

const repeatingSeeds = seeds(15)
test(
  'without a session, a repeated round charges again, unless the tool has singleUse or the bank knows the order',
  () => playAll(repeating, repeatingSeeds),
  timeout(repeatingSeeds),
)

/** What the first tool does, however its lines are broken; how it charges is the bank's. */
function handlerIn(file: string): string {
  const source = readFileSync(resolve(import.meta.dirname, '../..', file), 'utf8')
  const [handler = ''] = /async \(\{ to, amount \}, ctx\) => \{\n.*?receipt \$\{receipt\}.*?\n/s.exec(source) ?? []
  return handler
    .replace(/\s+/g, '')
    .replaceAll(',)', ')')
    .replace(/(?<=once\('charge',\(\)=>).*?(?=\)const)/, '…')
}

test('the tool under test is that of the example', () => {
  const example = handlerIn('examples/confirm/index.ts')
  expect(example).toContain("constreceipt=awaitctx.once('charge',()=>…)const")
  expect(handlerIn('test/serve/payments/index.ts')).toBe(example)
})
