/** A caller with limits, and with state of its own. */
import assert from 'node:assert/strict'
import type { World } from '../world.ts'
import { operate } from './app.ts'
import { StatelessClient } from './stateless-client.ts'
import { unlessLost } from './unless-lost.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** Those of the server: calls in an hour, and at a time in one isolate. */
const quota = 5
const atATime = 2

/** `refused`: by a limit. `lost`: what became of the call is unknown. */
type Outcome = { readonly is: 'ran' | 'refused' | 'lost'; readonly text: string }

export function callers(world: World): void {
  const { random } = world
  world.start('callers', async () => {
    const caller = new Caller(world, await createKey(world))
    for (let rounds = random.whole(1, 3); rounds > 0; rounds -= 1) {
      await random.pick([() => caller.useQuota(), () => caller.callAtOnce(), () => caller.visit()])()
      await world.sleep(random.pick([minuteMs, 2 * hourMs]))
    }
    await world.sleep(60 * hourMs)
    assert.deepEqual([...world.stored('McpState').keys()], [], 'what a caller has stored has outlived its time')
  })
}

/** Returns the key of an owner who has no other one: answers that are lost leave keys. */
export async function createKey(world: World, kind = 'caller', scopes = ['read']): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const params = { owner: { subject: `${kind} ${attempt}` }, scopes, expiresIn: 100 * hourMs }
    const created = await operate(world, 'createKey', params)
    if (created) return Object(created).key
  }
}

class Caller {
  readonly #world: World
  readonly #client: StatelessClient
  /** The number of the last visit that was acknowledged, and the visits that were sent. */
  #visits = 0
  #sentVisits = 0
  /** Calls of this hour, and those that were not refused. */
  #sent = { hour: 0, count: 0, accepted: 0 }

  constructor(world: World, key: string) {
    this.#world = world
    this.#client = new StatelessClient(world, key)
  }

  /** In an hour, the quota runs: not more, and not less than was sent. */
  async useQuota(): Promise<void> {
    const { random } = this.#world
    const hour = this.#hour()
    if (this.#sent.hour !== hour) this.#sent = { hour, count: 0, accepted: 0 }
    const outcomes = await Promise.all(
      Array.from({ length: random.whole(1, 8) }, async () => {
        await this.#world.sleep(random.between(0, 3000))
        return this.#call('limited')
      }),
    )
    // Another hour has begun.
    if (this.#hour() !== hour) return
    this.#sent.count += outcomes.length
    this.#sent.accepted += outcomes.filter(({ is }) => is !== 'refused').length
    const { count, accepted } = this.#sent
    const ran = this.#world.written(`limited ${hour}`)
    assert.ok(ran <= quota, `${ran} calls ran, of a quota of ${quota}`)
    assert.ok(accepted >= Math.min(quota, count), `${count - accepted} calls of ${count} were refused`)
    if (this.#world.faultCount === 0) assert.equal(ran, Math.min(quota, count))
  }

  /** Calls that have ended free their places, also those whose end nobody has noticed. */
  async callAtOnce(): Promise<void> {
    const running = () => this.#world.written('slow begins') - this.#world.written('slow ends')
    // Calls that were lost.
    const [lost, faultsBefore] = [running(), this.#world.faultCount]
    let isOver = false
    let most = 0
    const watch = async () => {
      while (!isOver) {
        most = Math.max(most, running() - lost)
        await this.#world.sleep(200)
      }
    }
    const watching = watch()
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => this.#call('slow')))
    isOver = true
    await watching
    // Each isolate counts its own. A call that is cut frees its place, and a lost isolate all.
    const faults = this.#world.faultCount - faultsBefore
    assert.ok(most <= atATime * (this.#world.isolates + faults), `${most} calls ran at the same time`)
    outcomes.push(...(await Promise.all([this.#call('slow'), this.#call('slow')])))
    const ran = outcomes.filter(({ is }) => is === 'ran').length
    const isExpected = ran >= atATime + 2 || this.#world.faultCount > 0
    assert.ok(isExpected, `${ran} of ${outcomes.length} calls ran`)
    // The time of a handler, and ten seconds.
    await this.#world.sleep(6 * minuteMs)
    const { is, text } = await this.#call('slow')
    assert.notEqual(is, 'refused', `a call that has ended holds its place: ${text}`)
    await this.#world.sleep(6 * minuteMs)
  }

  /** A visit that was acknowledged is counted, until a day after the last one. */
  async visit(): Promise<void> {
    this.#sentVisits += 1
    const { is, text } = await this.#call('visit')
    if (is !== 'ran') return
    const count = Number(text)
    const isExpected = count > this.#visits && count <= this.#sentVisits
    assert.ok(isExpected, `a visit is number ${count} of ${this.#sentVisits}, after ${this.#visits}`)
    this.#visits = count
  }

  #hour(): number {
    return Math.floor(this.#world.now() / hourMs)
  }

  /** Calls a tool once. */
  async #call(name: string): Promise<Outcome> {
    const answer = await unlessLost(async () => {
      const { status, body } = await this.#client.post('tools/call', { name, arguments: {} })
      return { status, text: await body.text() }
    })
    const { status, text = '' } = answer ?? {}
    if (status === 429) return { is: 'refused', text }
    const [, message = ''] = /^(?:data: )?(\{.*"(?:result|error)":.*)$/m.exec(text) ?? []
    const { result } = message === '' ? { result: undefined } : JSON.parse(message)
    if (result && !result.isError) return { is: 'ran', text: result.content[0].text }
    if (text !== '') this.#world.serverErrors.push(text.slice(0, 200))
    return { is: 'lost', text }
  }
}
