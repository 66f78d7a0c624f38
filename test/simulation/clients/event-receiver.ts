/** A receiver of webhooks outside of the platform. It knows what its subscription must receive, and what it must not. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { World } from '../world.ts'

const secondMs = 1000
const hourMs = 3600 * secondMs
/** Milliseconds that an attempt is on its way, at most: a message takes up to 600. */
export const onTheWayMs = secondMs

/** Why a subscription has ended. */
export const revoked = 'its user was revoked'

/** An event that was sent to be published. `savedAt`: when that was acknowledged. Times are milliseconds since 1970. */
export type Saved = {
  readonly number: number
  readonly topic: string
  /** Of those who receive it. Default: everyone. */
  readonly tenant?: string
  readonly subject?: string
  readonly key?: string
  readonly sentAt: number
  savedAt?: number
}

/** A user who subscribes, by an API key. */
export type User = { readonly token: string; readonly subject: string; readonly tenant: string | undefined }

/** Whether a user who wants a topic receives an event. */
export function isFor(saved: Saved, user: User, topic: string): boolean {
  const { tenant, subject } = saved
  if (saved.topic !== topic) return false
  if (subject !== undefined) return subject === user.subject && tenant === user.tenant
  return tenant === undefined || tenant === user.tenant
}

/** How a receiver answers events. `silent`: not at all. */
export type Manner = 'accept' | 'fail' | 'silent' | 'redirect' | 'unauthorized' | 'too large' | 'gone'

const statuses: Readonly<Record<Exclude<Manner, 'accept' | 'silent'>, number>> = {
  fail: 503,
  redirect: 307,
  unauthorized: 401,
  'too large': 413,
  gone: 410,
}

/** What has arrived of one event. */
type Arrivals = { readonly firstAt: number; readonly body: string; count: number; accepted: number }

export class Receiver {
  readonly url: string
  readonly user: User
  readonly topic: string
  manner: Manner = 'accept'
  /** The newest one is the last. */
  readonly secrets: string[] = []
  /** When the newest secret was acknowledged. */
  secretSince = Number.POSITIVE_INFINITY
  /** Since when the subscription is active, and when it ends; `undefined` without one. */
  active: { readonly since: number; until: number } | undefined
  /** Verifications that are answered wrongly. */
  failsVerifications = 0
  refreshes = 0
  /** What its client sends with the next request. */
  cursor: string | null = null
  readonly #world: World
  readonly #all: readonly Saved[]
  readonly #arrivals = new Map<number, Arrivals>()
  #id: string | undefined
  /** Whether it has refused an event for good. */
  #hasRefused = false
  /** Nothing may arrive later. */
  #end: { readonly at: number; readonly jumpedSeconds: number; readonly why: string } | undefined
  #terminations = 0
  /** Answers 401 and 410 since the manner was chosen, and faults before it. */
  #refusals = { since: 0, count: 0, lossCount: 0, jumpedSeconds: 0 }

  constructor(world: World, all: readonly Saved[], user: User, { path, topic }: { path: string; topic: string }) {
    this.#world = world
    this.#all = all
    this.user = user
    this.topic = topic
    this.url = `https://hooks.example/${path}`
    this.changeSecret()
  }

  changeSecret(): void {
    this.secretSince = Number.POSITIVE_INFINITY
    this.secrets.push(`whsec_${Buffer.from(this.#world.random.fill(new Uint8Array(32))).toString('base64')}`)
  }

  answerWith(manner: Manner): void {
    this.manner = manner
    const { lossCount, jumpedSeconds } = this.#world
    this.#refusals = { since: this.#world.now(), count: 0, lossCount, jumpedSeconds }
  }

  /** From now on, nothing more may arrive. @param graceMs milliseconds in which something may */
  endAt(at: number, graceMs: number, why: string): void {
    this.active = undefined
    this.#end = { at: at + graceMs, jumpedSeconds: this.#world.jumpedSeconds, why }
  }

  /** Called before a new subscription is requested. */
  begin(): void {
    this.#end = undefined
  }

  activate(id: string, since: number, until: number): void {
    assert.ok(this.#id === undefined || this.#id === id, 'the id of a subscription has changed')
    this.#id = id
    this.active = { since: this.active?.since ?? since, until }
    this.secretSince = Math.min(this.secretSince, this.#world.now())
  }

  /** Events that were published while the subscription was active, and that it has not accepted. */
  get missing(): readonly Saved[] {
    return this.#all.filter((one) => this.#isOwed(one) && !this.#arrivals.get(one.number)?.accepted)
  }

  #isOwed(saved: Saved): boolean {
    return saved.savedAt !== undefined && saved.sentAt >= (this.active?.since ?? Infinity) && this.#isFor(saved)
  }

  #isFor(saved: Saved): boolean {
    return isFor(saved, this.user, this.topic)
  }

  async receive(request: Request): Promise<Response> {
    const body = await request.text()
    const { random } = this.#world
    const header = (name: string) => String(request.headers.get(name))
    const [id, subscription] = [header('webhook-id'), header('X-MCP-Subscription-Id')]
    assert.equal(request.method, 'POST', 'a webhook is no POST')
    this.#checkSignature(body, id, header)
    assert.ok((this.#id ?? subscription) === subscription, 'an attempt has the id of another subscription')
    const { type, challenge, ...event } = JSON.parse(body)
    if (type === 'verification') {
      if (this.failsVerifications === 0) return Response.json({ challenge })
      this.failsVerifications -= 1
      return random.pick([new Response(null, { status: 500 }), Response.json({ challenge: `${challenge}.` })])
    }
    if (type === 'terminated') return this.#terminate(id, event.error)
    assert.equal(event.eventId, id, 'the header has another id than the event')
    assert.equal(event.name, 'record.saved')
    return this.#answer(this.#record(event.data.number, body))
  }

  #checkSignature(body: string, id: string, header: (name: string) => string): void {
    const { quietMs } = this.#world
    const now = this.#world.now()
    const seconds = header('webhook-timestamp')
    const ageMs = now - Number(seconds) * secondMs
    // The clock may have jumped on the way.
    if (quietMs > 3 * onTheWayMs) assert.ok(ageMs >= 0 && ageMs < 3 * onTheWayMs, `a timestamp is ${ageMs} ms old`)
    const expected = (secret: string) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
      return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
    }
    const signatures = header('webhook-signature').split(' ')
    const isNewest = now > this.secretSince + onTheWayMs && quietMs > onTheWayMs
    const secrets = isNewest ? this.secrets.slice(-1) : this.secrets
    assert.ok(
      secrets.some((secret) => signatures.includes(expected(secret))),
      'the signature is not of the secret',
    )
  }

  /** The server ends the subscription of a user who was revoked, and no other one. */
  #terminate(id: string, error: unknown): Response {
    assert.match(id, /^msg_terminated_/)
    assert.equal(this.#end?.why, revoked, 'a subscription is terminated')
    assert.deepEqual(error, { code: -32012, message: 'The subscriber may not receive this event any more' })
    this.#terminations += 1
    assert.equal(this.#terminations, 1, 'a subscription is terminated twice')
    return new Response(null, { status: this.#world.random.pick([204, 410, 500]) })
  }

  /** Records an attempt, which must be permitted. */
  #record(number: number, body: string): Arrivals {
    const now = this.#world.now()
    const { jumpedSeconds, lossCount } = this.#world
    const what = `event ${number} to ${this.url}`
    const saved = this.#all.find((one) => one.number === number) ?? assert.fail(`${what} was never published`)
    assert.ok(this.#isFor(saved), `${what} is for others`)
    if (this.#end) {
      const until = this.#end.at + (jumpedSeconds - this.#end.jumpedSeconds) * secondMs
      assert.ok(now <= until, `${what} is attempted after its subscription has ended: ${this.#end.why}`)
    }
    const first: Arrivals = { firstAt: now, body, count: 0, accepted: 0 }
    const arrivals = this.#arrivals.get(number) ?? first
    this.#arrivals.set(number, arrivals)
    assert.equal(body, arrivals.body, `${what} has another body than before`)
    if (arrivals.count === 0) this.#checkOrder(saved)
    arrivals.count += 1
    const isLost = arrivals.accepted <= lossCount || jumpedSeconds > 0
    // An attempt whose answer comes after a refresh is repeated.
    assert.ok(isLost || this.#hasRefused, `${what} is repeated after it was accepted ${arrivals.accepted} times`)
    // The pause is at least half a second, and then twice as long each time, up to half an hour. It begins again with a
    // refresh.
    const elapsedMs = now - arrivals.firstAt
    const most = 2 + Math.log2(1 + (2 * elapsedMs) / secondMs) + (2 * elapsedMs) / hourMs
    const allowed = most * (1 + this.refreshes) + this.#world.faultCount
    assert.ok(arrivals.count <= allowed, `${what}: ${arrivals.count} attempts in ${elapsedMs} ms`)
    return arrivals
  }

  /** Events with one key arrive one after another. */
  #checkOrder({ number, key, sentAt }: Saved): void {
    if (key === undefined) return
    const overtaken = this.missing.find((one) => one.key === key && Number(one.savedAt) < sentAt)
    assert.equal(overtaken?.number, undefined, `event ${number} has overtaken another one of its key`)
  }

  async #answer(arrivals: Arrivals): Promise<Response> {
    const { random } = this.#world
    const { manner } = this
    if (manner === 'silent') return new Promise(() => {})
    if (manner === 'accept' && random.chance(0.2)) await this.#pause(random.pick([100, 6000]))
    const isRefused = manner === 'too large' || manner === 'gone'
    if (manner === 'accept' || isRefused) arrivals.accepted += 1
    if (isRefused) this.#hasRefused = true
    if (manner === 'accept') return random.chance(0.5) ? new Response('thanks') : new Response(null, { status: 204 })
    // An attempt of before may end otherwise, and those in a row count.
    if ((manner === 'unauthorized' || manner === 'gone') && this.#world.now() > this.#refusals.since + 15 * secondMs) {
      // A jump of the clock makes the two that run fail otherwise.
      if (this.#refusals.jumpedSeconds !== this.#world.jumpedSeconds)
        this.#refusals = { ...this.#refusals, count: -2, jumpedSeconds: this.#world.jumpedSeconds }
      this.#refusals.count += 1
      const { count, lossCount } = this.#refusals
      // The fifth suspends the subscription; another one may be on its way. A crash forgets the two that run.
      const most = 6 + 2 * (this.#world.lossCount - lossCount)
      assert.ok(count <= most, `${count} attempts were answered with 401 or 410 since the last refresh`)
    }
    const headers = { Location: 'https://elsewhere.example/' }
    return new Response(null, { status: statuses[manner], ...(manner === 'redirect' && { headers }) })
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.#world.platform.loop.after(delayMs, 'receiver answers', resolve))
  }
}
