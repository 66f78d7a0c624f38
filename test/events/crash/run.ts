/**
 * Users of several tenants subscribe to events of a Worker whose process is killed again and again, and whose objects are restarted, while their
 * receivers fail in every way. What was acknowledged must arrive, and nothing else may.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Folder } from '../../../bench/folder.ts'
import type { Replacement } from '../../simulation/platform/bundle.ts'
import { Random } from '../../simulation/platform/random.ts'
import { statelessHeaders } from '../../support/stateless.ts'
import { Outside } from './outside.ts'
import {
  type Faults,
  type Figures,
  type Manner,
  manners,
  type Recipients,
  type Saved,
  Subscriber,
  type User,
} from './subscriber.ts'
import { Workerd } from './workerd.ts'

export type Settings = {
  readonly principals: number
  /** `timeout` of `events()`. */
  readonly timeoutMs: number
  /** Duration of the load. What waits then arrives later. */
  readonly seconds: number
  /** Seconds until everything must have arrived, after the load. */
  readonly drainSeconds: number
  readonly seed: number
  readonly defects?: readonly Replacement[]
  print?(line: string): void
}

const issuer = 'https://directory.example'
const topics = ['tea', 'milk', 'bread']
const subscriptionsEach = 3
/** Subscriptions of one host: a host gets 300 verifications in a minute. */
const subscriptionsOfHost = 60
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'crash', version: '1' },
}

type Message = {
  readonly result?: { readonly [name: string]: unknown }
  readonly error?: { code: number; message: string }
}

/** @throws Error for what must not happen, and for what has not happened */
export async function runCrash(settings: Settings): ReturnType<CrashRun['run']> {
  using folder = new Folder()
  await using outside = new Outside()
  const run = new CrashRun(settings, outside)
  using workerd = await Workerd.create(folder.path, {
    outside: await outside.listen(run.users),
    timeoutMs: settings.timeoutMs,
    defects: settings.defects ?? [],
  })
  return await run.run(workerd)
}

class CrashRun {
  readonly users: readonly User[]
  readonly #settings: Settings
  readonly #random: Random
  readonly #outside: Outside
  readonly #saved: Saved[] = []
  readonly #faults: Faults = { at: 0 }
  readonly #figures: Figures = {
    verifications: 0,
    attempts: 0,
    accepted: 0,
    repeated: 0,
    refused: 0,
    signatures: 0,
    pauses: 0,
    longestPauseMs: 0,
  }
  readonly #counts = { published: 0, unacknowledged: 0, kills: 0, restarts: 0, ended: 0, revoked: 0, moved: 0 }
  #subscribers: Subscriber[] = []
  #keys = 0

  constructor(settings: Settings, outside: Outside) {
    this.#settings = settings
    this.#random = new Random(settings.seed)
    this.#outside = outside
    // Users of different tenants have the same subjects.
    const tenants = Math.max(2, Math.ceil(settings.principals / 40))
    this.users = Array.from({ length: settings.principals }, (_, index) => {
      const tenant = index % tenants === 0 ? undefined : `tenant ${index % tenants}`
      const subject = `user ${Math.floor(index / tenants)}`
      const claims = { email: `private-${index}@users.example` }
      return { subject, tenant, token: JSON.stringify({ subject, ...(tenant !== undefined && { tenant }), claims }) }
    })
  }

  async run(workerd: Workerd) {
    const beganAt = Date.now()
    await workerd.start()
    this.#subscribers = this.users.flatMap((user) =>
      topics.slice(0, subscriptionsEach).map((topic) => this.#createSubscriber(user, topic)),
    )
    await this.#each(this.#subscribers, async (one) => {
      if (this.#random.chance(0.1)) one.lies = this.#random.whole(1, 3)
      await this.#subscribe(workerd, one)
    })
    const subscribedAt = Date.now()
    this.#settings.print?.(`${this.#subscribers.length} subscriptions after ${subscribedAt - beganAt} ms`)
    const endsAt = subscribedAt + this.#settings.seconds * 1000
    const stop = () => Date.now() > endsAt || this.#outside.failure !== undefined
    await Promise.all([
      this.#injectFaults(workerd, stop),
      ...['x', 'y', 'z', undefined].map((key) => this.#publishUntil(workerd, key, stop)),
      this.#changeManners(workerd, stop),
    ])
    const drainedMs = await this.#drain(workerd)
    this.#settings.print?.(`everything has arrived after ${drainedMs} ms`)
    await this.#leave(workerd)
    const leaked = await this.#end(workerd)
    const figures = {
      users: this.users.length,
      subscriptions: this.#subscribers.length,
      subscribedMs: subscribedAt - beganAt,
      ...this.#counts,
      ...this.#figures,
      drainedMs,
      leaked,
      totalMs: Date.now() - beganAt,
    }
    return figures
  }

  #createSubscriber(user: User, topic: string): Subscriber {
    const number = this.#keys
    this.#keys += 1
    const port = this.#random.pick(['', '', ':8443'])
    const host = `hooks-${Math.floor(number / subscriptionsOfHost)}.example${port}`
    const parts = {
      saved: this.#saved,
      faults: this.#faults,
      figures: this.#figures,
      timeoutMs: this.#settings.timeoutMs,
    }
    const one = new Subscriber({ user, topic, key: `key-${number}`, host }, parts)
    this.#outside.subscribers.set(one.key, one)
    return one
  }

  /** Runs work for all values, some at the same time. */
  async #each<T>(values: readonly T[], work: (value: T) => Promise<void>): Promise<void> {
    const left = [...values]
    const next = async () => {
      for (let value = left.pop(); value !== undefined; value = left.pop()) {
        this.#check()
        await work(value)
      }
    }
    await Promise.all(Array.from({ length: 20 }, next))
  }

  #check(): void {
    if (this.#outside.failure !== undefined) throw this.#outside.failure
  }

  /** Sends a request until it is answered. */
  async #ask(
    workerd: Workerd,
    user: User,
    method: string,
    params: object,
  ): Promise<Message & { wasRepeated: boolean }> {
    const headers = { ...statelessHeaders(method), Authorization: `Bearer ${user.token}` }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } })
    const endsAt = Date.now() + Math.max(60, this.#settings.drainSeconds) * 1000
    for (let wasRepeated = false; ; wasRepeated = true) {
      const response = await this.#send(workerd, '/mcp', { method: 'POST', headers, body })
      if (response && response.status < 500) {
        // A response that takes long is a stream.
        const data = response.text.startsWith('{') ? response.text : /^data: (\{.*)/m.exec(response.text)?.[1]
        const message: Message | undefined = data && JSON.parse(data)
        if (message && message.error?.code !== -32603) return { ...message, wasRepeated }
      }
      assert.ok(
        Date.now() < endsAt,
        `${method}: the server does not come back: ${response?.text}\n${workerd.log.slice(-2000)}`,
      )
      this.#check()
      if (this.#killing === undefined) workerd.check()
      await sleep(100)
    }
  }

  /** Returns `undefined` when the connection was lost. */
  async #send(
    workerd: Workerd,
    path: string,
    init: RequestInit,
  ): Promise<{ status: number; text: string } | undefined> {
    try {
      const response = await fetch(new URL(path, workerd.url), init)
      return { status: response.status, text: await response.text() }
    } catch {
      return undefined
    }
  }

  async #subscribe(workerd: Workerd, one: Subscriber): Promise<void> {
    one.refresh()
    const params = { name: 'record.saved', arguments: { topic: one.topic }, cursor: null, ttlMs: 86_400_000 }
    for (let lies = 0; ; lies += 1) {
      const delivery = { mode: 'webhook', url: one.url, secret: one.secret }
      const { result, error } = await this.#ask(workerd, one.user, 'events/subscribe', { ...params, delivery })
      if (result) {
        const { id, refreshBefore, cursor, truncated, deliveryStatus = {}, ...others } = result
        assert.ok(cursor === null || typeof cursor === 'string')
        assert.equal(truncated, false)
        assert.match(String(refreshBefore), /^\d{4}-\d\d-\d\dT/)
        const unknown = Object.keys(Object(deliveryStatus)).filter((name) => !statusMembers.includes(name))
        assert.deepEqual(unknown, [], `a status with other members: ${JSON.stringify(deliveryStatus)}`)
        assert.ok(!('id' in others))
        one.refresh(String(id))
        return
      }
      assert.equal(error?.code, -32015, `events/subscribe: ${JSON.stringify(error)}`)
      assert.ok(lies < 10, `a receiver that answers is not verified: ${JSON.stringify(error)}`)
    }
  }

  async #unsubscribe(workerd: Workerd, one: Subscriber): Promise<void> {
    const params = { name: 'record.saved', arguments: { topic: one.topic }, delivery: { url: one.url } }
    const { error, wasRepeated } = await this.#ask(workerd, one.user, 'events/unsubscribe', params)
    if (error && !wasRepeated) assert.fail(`events/unsubscribe: ${JSON.stringify(error)}`)
    one.end('its client has unsubscribed')
    this.#counts.ended += 1
  }

  /** Publishes records one after the other: those with a key have an order. */
  async #publishUntil(workerd: Workerd, key: string | undefined, stop: () => boolean): Promise<void> {
    const most = Math.max(60, this.#subscribers.length / 10)
    while (!stop()) {
      if (this.#owedCount() < most) await this.#publish(workerd, key)
      await sleep(this.#random.between(0, 300))
    }
  }

  async #publish(workerd: Workerd, key: string | undefined): Promise<void> {
    const { subject, tenant } = this.#random.pick(this.users)
    const kinds: readonly Recipients[] = [
      { user: { issuer, subject, ...(tenant !== undefined && { tenant }) } },
      tenant === undefined ? { user: { issuer, subject } } : { tenant: { issuer, tenant } },
      { everyone: true },
    ]
    const kind = this.#random.pick([0, 0, 0, 0, 0, 1, 1, 1, 1, 2])
    const recipients = kinds[kind] ?? { everyone: true }
    const record: Saved = {
      number: this.#saved.length,
      topic: this.#random.pick([...topics, '*']),
      recipients,
      key,
      sentAt: Date.now(),
    }
    this.#saved.push(record)
    const { number, topic } = record
    const options = key === undefined ? {} : { key }
    const body = JSON.stringify({ payload: { number, topic }, recipients, options })
    const response = await this.#send(workerd, '/publish', { method: 'POST', body })
    if (response?.status !== 200) {
      this.#counts.unacknowledged += 1
      return
    }
    this.#counts.published += 1
    record.savedAt = Date.now()
    for (const one of this.#subscribers) one.expect(record)
    // Between the publication and the POST.
    if (this.#random.chance(0.02)) await this.#kill(workerd)
  }

  async #injectFaults(workerd: Workerd, stop: () => boolean): Promise<void> {
    // All objects start again after a kill: more of them take longer.
    const pause = Math.min(Math.max(10, this.#subscribers.length / 100), this.#settings.seconds / 5)
    while (!stop()) {
      await sleep(this.#random.between(0.3, 1.5) * pause * 1000)
      if (stop()) return
      if (this.#random.chance(0.5)) await this.#kill(workerd)
      else await this.#restart(workerd, this.#random.pick([0.1, 0.5, 1]))
    }
  }

  #killing: Promise<void> | undefined

  async #kill(workerd: Workerd): Promise<void> {
    this.#killing ??= (async () => {
      this.#faults.at = Number.POSITIVE_INFINITY
      await workerd.kill()
      this.#counts.kills += 1
      await sleep(this.#random.between(0, 300))
      await workerd.start()
      this.#faults.at = Date.now()
    })().finally(() => {
      this.#killing = undefined
    })
    await this.#killing
  }

  async #restart(workerd: Workerd, share: number): Promise<void> {
    this.#faults.at = Number.POSITIVE_INFINITY
    const response = await this.#send(workerd, `/restart?share=${share}`, {})
    this.#counts.restarts += Number(response?.text ?? 0)
    this.#faults.at = Date.now()
  }

  async #changeManners(workerd: Workerd, stop: () => boolean): Promise<void> {
    const round = Math.min(30, this.#settings.seconds / 3)
    while (!stop()) {
      for (const one of this.#subscribers) {
        one.manner = this.#random.chance(0.7) ? 'accept' : this.#random.pick<Manner>(manners)
      }
      this.#outside.failsOneOf = this.#random.pick([10, 100, Number.POSITIVE_INFINITY])
      const endsAt = Date.now() + round * 1000
      while (!stop() && Date.now() < endsAt) await sleep(50)
      if (stop()) return
      this.#revoke(Math.ceil(this.users.length / 100))
      await this.#recover(workerd)
    }
  }

  /** The directory does not know some users any more. */
  #revoke(count: number): void {
    const users = this.#random.some(
      this.users.filter((user) => !this.#outside.revoked.has(user)),
      count,
    )
    for (const user of users) this.#outside.revoked.add(user)
    this.#counts.revoked += users.length
    for (const one of this.#subscribers) if (users.includes(one.user)) one.end('its user was revoked')
  }

  /** Receivers accept again: some at another address, some with another secret. */
  async #recover(workerd: Workerd): Promise<void> {
    this.#outside.failsOneOf = Number.POSITIVE_INFINITY
    const known = this.#subscribers.filter(({ user }) => !this.#outside.revoked.has(user))
    await this.#each(known, async (one) => {
      const { manner } = one
      one.manner = 'accept'
      if (manner === 'down' && this.#random.chance(0.5)) await this.#move(workerd, one)
      else if (one.since === undefined || manner === 'unauthorized' || manner === 'gone')
        await this.#subscribe(workerd, one)
      else if (this.#random.chance(0.05)) {
        one.changeSecret()
        await this.#subscribe(workerd, one)
      }
    })
  }

  async #move(workerd: Workerd, one: Subscriber): Promise<void> {
    const next = this.#createSubscriber(one.user, one.topic)
    await this.#subscribe(workerd, next)
    if (one.since !== undefined) await this.#unsubscribe(workerd, one)
    else one.end('it has moved')
    this.#subscribers = this.#subscribers.map((other) => (other === one ? next : other))
    this.#counts.moved += 1
  }

  #owedCount(): number {
    return this.#subscribers.reduce((sum, { owed }) => sum + owed.size, 0)
  }

  /** Waits until everything has arrived. Returns milliseconds. */
  async #drain(workerd: Workerd): Promise<number> {
    this.#check()
    await this.#recover(workerd)
    const since = Date.now()
    for (let printedAt = since; this.#owedCount() > 0; ) {
      this.#check()
      workerd.check()
      const now = Date.now()
      if (now - since > this.#settings.drainSeconds * 1000) this.#failMissing(workerd)
      if (now - printedAt > 20_000) {
        printedAt = now
        this.#settings.print?.(`${this.#owedCount()} are missing after ${now - since} ms`)
      }
      await sleep(20)
    }
    return Date.now() - since
  }

  #failMissing(workerd: Workerd): never {
    const missing = this.#subscribers.filter(({ owed }) => owed.size > 0)
    const lines = missing.slice(0, 10).map((one) => `${one.url} of ${one.user.token}: ${[...one.owed].join()}`)
    const count = this.#owedCount()
    assert.fail(
      `${count} records were acknowledged, and have not arrived:\n${lines.join('\n')}\n${workerd.log.slice(-2000)}`,
    )
  }

  /** All subscriptions end: their clients unsubscribe, or their time is over, also with receivers that refuse. */
  async #leave(workerd: Workerd): Promise<void> {
    await this.#each(this.#subscribers, async (one) => {
      if (one.since === undefined) return
      const way = this.#random.pick(['unsubscribe', 'gone', 'expire'])
      if (way === 'unsubscribe') await this.#unsubscribe(workerd, one)
      else if (way === 'gone') one.manner = 'gone'
    })
    await this.#publish(workerd, undefined)
    await sleep(500)
    this.#check()
  }

  /** Nothing private is stored or printed, and nothing is stored when all lifetimes are over. */
  async #end(workerd: Workerd): Promise<number> {
    await workerd.kill()
    // To search a file for each of thousands of secrets takes hours. The prefix stands for all of them.
    const some = this.#random.some([...this.#outside.subscribers.values()], 50).flatMap(({ secrets }) => secrets)
    const bare = some.map((secret) => secret.slice('whsec_'.length))
    const leaked = workerd.leaked(['whsec_', ...bare, '@users.example'])
    assert.deepEqual(leaked, [], 'secrets or claims are in the storage, or in the log')
    await workerd.start()
    const ids = workerd.objectIds
    for (const days of [9, 9, 9]) {
      for (let start = 0; start < ids.length; start += 100) {
        const body = JSON.stringify({ days: start === 0 ? days : 0, ids: ids.slice(start, start + 100) })
        const response = await this.#send(workerd, '/age', { method: 'POST', body })
        assert.equal(response?.status, 200, response?.text ?? 'the connection was lost')
      }
    }
    await workerd.kill()
    assert.deepEqual(workerd.storedRows, {}, 'rows have outlived their time')
    return leaked.length
  }
}

const statusMembers = ['active', 'lastDeliveryAt', 'lastError', 'failedSince']
