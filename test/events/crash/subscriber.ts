/** A subscription outside of the Worker: its receiver, and what must, may and must not arrive there. */
import assert from 'node:assert/strict'
import { experimental_createMCPEventWebhook as createWebhook } from '@ai-sdk/mcp'
import { Webhook } from 'standardwebhooks'

/** Milliseconds by which this process may notice something late. */
const lagMs = 300

/** A record that was sent to be published. Times are milliseconds since 1970. */
export type Saved = {
  readonly number: number
  /** `*`: of all topics. */
  readonly topic: string
  readonly recipients: Recipients
  readonly key: string | undefined
  readonly sentAt: number
  /** When the publication was acknowledged. */
  savedAt?: number
}

export type Recipients = {
  readonly user?: { readonly issuer: string; readonly subject: string; readonly tenant?: string }
  readonly tenant?: { readonly issuer: string; readonly tenant: string }
  readonly everyone?: true
}

export type User = { readonly subject: string; readonly tenant: string | undefined; readonly token: string }

export const manners = ['accept', 'fail', 'hang', 'redirect', 'unauthorized', 'too large', 'gone', 'down'] as const
/** How a receiver answers events. `hang`: not at all. `down`: its connections break. */
export type Manner = (typeof manners)[number]

const statuses: Readonly<Record<Exclude<Manner, 'hang' | 'down'>, number>> = {
  accept: 204,
  fail: 503,
  redirect: 307,
  unauthorized: 401,
  'too large': 413,
  gone: 410,
}

export type Answer = 'hang' | 'down' | { readonly status: number; readonly body?: string; readonly location?: string }

/** Attempts to deliver a record. */
type Attempts = {
  readonly body: string
  count: number
  /** Since the last refresh or crash that may have been forgotten, at least. */
  failures: number
  lastAt: number
  /** When the last one ended; `undefined` while it runs. */
  endedAt: number | undefined
  isOver: boolean
  timestamps: number
}

/** When the Worker, or some of its objects, were last ended. */
export type Faults = { at: number }

export type Figures = {
  verifications: number
  attempts: number
  accepted: number
  repeated: number
  /** With 410 or 413. */
  refused: number
  signatures: number
  pauses: number
  longestPauseMs: number
}

export class Subscriber {
  readonly user: User
  readonly topic: string
  readonly key: string
  readonly host: string
  manner: Manner = 'accept'
  /** Verifications that are answered wrongly. */
  lies = 0
  /** Records that must arrive. */
  readonly owed = new Set<number>()
  /** When the subscription was acknowledged; `undefined` without one. */
  since: number | undefined
  id: string | undefined
  #secrets: string[] = []
  /** When the newest secret was acknowledged. */
  #secretSince = Number.POSITIVE_INFINITY
  #refreshedAt = 0
  #end: { readonly at: number; readonly why: string } | undefined
  readonly #attempts = new Map<number, Attempts>()
  readonly #running = new Set<{ readonly since: number; readonly manner: Manner }>()
  readonly #saved: readonly Saved[]
  readonly #faults: Faults
  readonly #figures: Figures
  /** Of the Worker. */
  readonly #timeoutMs: number
  /** Milliseconds in which an attempt that has begun arrives. */
  readonly #onTheWayMs: number

  constructor(
    { user, topic, key, host }: Pick<Subscriber, 'user' | 'topic' | 'key' | 'host'>,
    {
      saved,
      faults,
      figures,
      timeoutMs,
    }: { saved: readonly Saved[]; faults: Faults; figures: Figures; timeoutMs: number },
  ) {
    this.user = user
    this.topic = topic
    this.key = key
    this.host = host
    this.#saved = saved
    this.#faults = faults
    this.#figures = figures
    this.#timeoutMs = timeoutMs
    this.#onTheWayMs = 2 * timeoutMs + 4000
    this.changeSecret()
  }

  get url(): string {
    return `https://${this.host}/hook?mcp_event_subscription=${this.key}`
  }

  get secret(): string {
    return this.#secrets.at(-1) ?? ''
  }

  get secrets(): readonly string[] {
    return this.#secrets
  }

  changeSecret(): void {
    this.#secretSince = Number.POSITIVE_INFINITY
    this.#secrets.push(`whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')}`)
  }

  /** Called before a subscription is requested, and when it is acknowledged. */
  refresh(id?: string): void {
    for (const attempts of this.#attempts.values()) attempts.failures = 0
    this.#refreshedAt = Date.now()
    if (id === undefined) {
      if (this.since === undefined) this.#end = undefined
      return
    }
    assert.equal(id, this.id, 'a subscription has another id than its verification')
    this.since ??= Date.now()
    if (this.#secretSince > Date.now()) this.#secretSince = Date.now()
  }

  /** Nothing that is saved from now on may arrive. */
  end(why: string): void {
    this.#end = { at: Date.now(), why }
    this.forget()
  }

  /** Nothing has to arrive any more. */
  forget(): void {
    this.since = undefined
    this.owed.clear()
  }

  /** Called when a record was acknowledged. */
  expect(record: Saved): void {
    if (this.since === undefined || this.since > record.sentAt || !this.#mayReceive(record)) return
    if (!this.#attempts.get(record.number)?.isOver) this.owed.add(record.number)
  }

  /** @returns the answer, and a function that is called when the request has ended */
  async receive(request: Request, isTooLate: () => boolean): Promise<{ answer: Answer; onEnd(): void }> {
    const sentAt = Date.now()
    const text = await request.clone().text()
    await this.#verify(request, text)
    const body = JSON.parse(text)
    if (body.type === 'verification') {
      this.#figures.verifications += 1
      return { answer: this.#answerChallenge(body.challenge), onEnd: () => {} }
    }
    if (body.type === 'terminated') {
      assert.equal(this.#end?.why, 'its user was revoked', 'a subscription is terminated')
      return { answer: { status: 204 }, onEnd: () => {} }
    }
    const record = this.#saved[body.data.number] ?? assert.fail(`a record that was not saved: ${text}`)
    const attempts = this.#count(record, text, Number(request.headers.get('webhook-timestamp')), sentAt)
    const running = { since: sentAt, manner: this.manner }
    this.#running.add(running)
    this.#checkRunning()
    const answer = this.#answer()
    const onEnd = () => {
      this.#running.delete(running)
      const isHeard = !isTooLate()
      attempts.endedAt = running.manner === 'hang' ? Math.min(Date.now(), sentAt + this.#timeoutMs) : Date.now()
      if (isHeard && ['accept', 'too large', 'gone'].includes(running.manner)) {
        if (running.manner === 'accept') this.#figures.accepted += 1
        else this.#figures.refused += 1
        attempts.isOver = true
        this.owed.delete(record.number)
      } else attempts.failures += 1
    }
    return { answer, onEnd }
  }

  #mayReceive({ topic, recipients }: Saved): boolean {
    if (topic !== '*' && topic !== this.topic) return false
    const { user, tenant, everyone } = recipients
    if (everyone) return true
    if (tenant) return tenant.tenant === this.user.tenant
    return user?.subject === this.user.subject && user.tenant === this.user.tenant
  }

  /** Both libraries accept the signature. */
  async #verify(request: Request, text: string): Promise<void> {
    const headers = Object.fromEntries(request.headers)
    const id = headers['x-mcp-subscription-id']
    this.id ??= id
    assert.equal(id, this.id, 'a subscription gets what is signed for another one')
    const isSigned = (secret: string) => {
      try {
        new Webhook(secret).verify(text, headers)
        return true
      } catch {
        return false
      }
    }
    const isKnownToWorker = Date.now() - this.#secretSince > this.#onTheWayMs
    const secret = (isKnownToWorker ? this.#secrets.slice(-1) : this.#secrets.slice(-2)).find(isSigned)
    assert.ok(secret !== undefined, `a signature that the library of Standard Webhooks does not accept: ${text}`)
    // It answers 401 to other signatures, and 400 to other bodies.
    const { status } = await webhookOf({ ...this.#stored(secret), id })(request)
    assert.ok(status === 200 || status === 204, `the receiver of @ai-sdk/mcp answers ${status}: ${text}`)
    this.#figures.signatures += 1
  }

  #stored(secret: string) {
    const delivery = { mode: 'webhook' as const, url: this.url, secret }
    return {
      key: this.key,
      name: 'record.saved',
      arguments: { topic: this.topic },
      delivery,
      status: 'active' as const,
    }
  }

  #answerChallenge(challenge: string): Answer {
    if (this.manner === 'down') return 'down'
    if (this.lies === 0) return { status: 200, body: JSON.stringify({ challenge }) }
    this.lies -= 1
    const lies: readonly Answer[] = [
      { status: 200, body: JSON.stringify({ challenge: `${challenge}x` }) },
      { status: 307, location: 'https://elsewhere.example/' },
      { status: 500 },
      'down',
    ]
    return lies[this.lies % lies.length] ?? 'down'
  }

  #count(record: Saved, text: string, timestamp: number, now: number): Attempts {
    const { number, key } = record
    const what = `record ${number} at ${this.url}`
    assert.ok(this.#mayReceive(record), `${what} is for others: ${JSON.stringify(record)}`)
    if (this.#end) {
      assert.ok(record.sentAt < this.#end.at, `${what} was saved after the end: ${this.#end.why}`)
      assert.ok(
        now - this.#end.at < this.#onTheWayMs,
        `${what} arrives ${now - this.#end.at} ms after the end: ${this.#end.why}`,
      )
    }
    const before = this.#attempts.get(number)
    this.#figures.attempts += 1
    if (before) this.#checkRepetition(before, what, { text, timestamp, now })
    else this.#checkOrder(number, key, what)
    const attempts = before ?? {
      body: text,
      count: 0,
      failures: 0,
      lastAt: now,
      endedAt: undefined,
      isOver: false,
      timestamps: timestamp,
    }
    attempts.count += 1
    attempts.lastAt = now
    attempts.endedAt = undefined
    attempts.timestamps = timestamp
    this.#attempts.set(number, attempts)
    return attempts
  }

  #checkRepetition(
    before: Attempts,
    what: string,
    { text, timestamp, now }: { text: string; timestamp: number; now: number },
  ): void {
    assert.equal(text, before.body, `${what} has changed`)
    assert.ok(timestamp >= before.timestamps, `${what} has an older timestamp`)
    if (before.isOver) this.#figures.repeated += 1
    const isDisturbed = Math.max(this.#faults.at, this.#refreshedAt) + 100 > before.lastAt
    // What a crash made the Worker forget, it repeats without a pause.
    if (isDisturbed) before.failures = Math.max(0, before.failures - 1)
    else if (before.endedAt !== undefined && before.failures > 0) {
      const pauseMs = now - before.endedAt
      const leastMs = 500 * 2 ** Math.min(before.failures - 1, 12)
      assert.ok(pauseMs >= leastMs - lagMs, `${what}: attempt ${before.count + 1} comes after ${pauseMs} ms`)
      this.#figures.pauses += 1
      this.#figures.longestPauseMs = Math.max(this.#figures.longestPauseMs, pauseMs)
    }
  }

  /** What has the same key comes after what was saved before. */
  #checkOrder(number: number, key: string | undefined, what: string): void {
    if (key === undefined) return
    const ofKey = (other: number) => this.#saved[other]?.key === key
    const overtaken = [...this.owed].filter((other) => other < number && ofKey(other))
    assert.deepEqual(overtaken, [], `${what} overtakes others with its key`)
    const later = [...this.#attempts.keys()].filter((other) => other > number && ofKey(other))
    assert.deepEqual(later, [], `${what} comes after others with its key`)
  }

  #checkRunning(): void {
    const now = Date.now()
    if (now - this.#faults.at < 2000) return
    const count = [...this.#running].filter(({ since }) => now - since < this.#timeoutMs - lagMs).length
    assert.ok(count <= 2, `${count} attempts for ${this.url} run at the same time`)
  }

  #answer(): Answer {
    const { manner } = this
    if (manner === 'hang' || manner === 'down') return manner
    return { status: statuses[manner], ...(manner === 'redirect' && { location: 'https://elsewhere.example/' }) }
  }
}

/** The receiver of @ai-sdk/mcp, which knows one subscription. */
function webhookOf(subscription: object) {
  const store = { get: async () => subscription, update: async () => {}, delete: async () => {} }
  // The store has what the receiver reads.
  return createWebhook({ store: store as never, onEvent: async () => {} })
}
