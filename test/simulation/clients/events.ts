/** Users who subscribe to events by webhook, of several tenants, and others who publish them. */
import assert from 'node:assert/strict'
import type { World } from '../world.ts'
import { operate } from './app.ts'
import { EventReader } from './event-reader.ts'
import { type Manner, onTheWayMs, Receiver, revoked, type Saved, type User } from './event-receiver.ts'
import type { Message } from './session-client.ts'
import { type Fields, StatelessClient } from './stateless-client.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
/** Milliseconds after which a request whose connection was lost has no effect any more. */
const zombieMs = minuteMs

const name = 'record.saved'
const topics = ['tea', 'milk']
const manners: readonly Manner[] = [
  'accept',
  'accept',
  'fail',
  'silent',
  'redirect',
  'unauthorized',
  'too large',
  'gone',
]

/** An event that is published reaches each subscription that is active, at least once, in the order of its key, and no other one. */
export function eventSubscribers(world: World): void {
  world.start('event subscribers', () => new Events(world).run())
}

class Events {
  readonly #world: World
  readonly #saved: Saved[] = []
  readonly #receivers: Receiver[] = []
  readonly #revoked = new Set<string>()
  #isDirectoryDown = false

  constructor(world: World) {
    this.#world = world
    world.sites.set('hooks.example', (request) => {
      const receiver = this.#receivers.find(({ url }) => url === request.url)
      const answering = receiver?.receive(request) ?? assert.fail(`nobody has the URL ${request.url}`)
      world.beside(answering)
      return answering
    })
    world.sites.set('elsewhere.example', () => {
      const offence = Promise.reject(new Error('a redirect was followed'))
      world.beside(offence)
      return offence
    })
    world.sites.set('directory.example', async ({ url }) => {
      const isRevoked = this.#revoked.has(decodeURIComponent(new URL(url).pathname.slice(1)))
      const delayMs = world.random.pick([1, 1, 50, 3000])
      await new Promise<void>((resolve) => void world.platform.loop.after(delayMs, 'directory answers', resolve))
      return new Response(null, {
        status: this.#isDirectoryDown && world.random.chance(0.2) ? 503 : isRevoked ? 404 : 200,
      })
    })
  }

  async run(): Promise<void> {
    const { random } = this.#world
    const tenants = random.some(['a', 'a', 'b', undefined], random.whole(2, 3))
    const users = await Promise.all(tenants.map((tenant, index) => this.#createUser(tenant, index)))
    for (const user of users) {
      for (let count = random.whole(1, 2); count > 0; count -= 1) {
        const place = { path: `${this.#receivers.length}?x=%20`, topic: random.pick(topics) }
        const receiver = new Receiver(this.#world, this.#saved, user, place)
        this.#receivers.push(receiver)
        if (random.chance(0.2)) receiver.failsVerifications = random.whole(1, 2)
      }
    }
    const readers = users
      .filter(() => random.chance(0.4))
      .map((user) => new EventReader(this.#world, this.#saved, user, random.pick(topics)))
    await Promise.all([
      ...this.#receivers.map((one) => this.#subscribe(one)),
      ...readers.map((reader) => reader.begin()),
    ])
    for (let rounds = random.whole(1, 3); rounds > 0; rounds -= 1) {
      for (const receiver of this.#receivers) receiver.answerWith(random.pick(manners))
      this.#isDirectoryDown = random.chance(0.3)
      await this.#publish(users)
      await Promise.all(readers.map((reader) => reader.catchUp()))
      await this.#world.sleep(random.pick([0, secondMs, 20 * secondMs, minuteMs, hourMs]))
      this.#isDirectoryDown = false
      await Promise.all(this.#receivers.map((one) => this.#recover(one)))
    }
    for (const reader of readers) reader.end()
    const revoked = users.filter(() => random.chance(0.2))
    await Promise.all([
      ...revoked.map((user) => this.#revoke(user)),
      ...this.#receivers.filter(({ user }) => !revoked.includes(user)).map((one) => this.#leave(one)),
    ])
    await this.#publish(users)
    await this.#world.sleep(3 * hourMs)
    await Promise.all(this.#receivers.map((one) => one.active && this.#receiveAll(one, 0)))
    // The longest lifetime, and that of ids.
    await this.#world.sleep(9 * dayMs)
    assert.deepEqual([...this.#world.stored('McpEvents')], [], 'events have outlived their time')
  }

  async #createUser(tenant: string | undefined, index: number): Promise<User> {
    for (let attempt = 1; ; attempt += 1) {
      const subject = `subscriber ${index} ${attempt}`
      const params = { owner: { subject, ...(tenant !== undefined && { tenant }) }, expiresIn: 100 * hourMs }
      const created = await operate(this.#world, 'createKey', params)
      if (created) return { token: Object(created).key, subject, tenant }
    }
  }

  /** Sends a request until it is answered. What an attempt whose answer was lost does is over before the next one. */
  async #send(user: User, method: string, params: Fields): Promise<Message & { wasRepeated: boolean }> {
    const client = new StatelessClient(this.#world, user.token)
    for (let attempt = 0; ; attempt += 1) {
      const message = await client.askOnce(method, params)
      // A clock that jumps ends a request.
      const isStopped = message?.error?.code === -32603
      if (message && !isStopped) return { ...message, wasRepeated: attempt > 0 }
      if (message) this.#world.serverErrors.push(JSON.stringify(message.error))
      assert.ok(attempt < 20, `${method}: the server does not come back: ${this.#world.serverErrors.at(-1)}`)
      await this.#world.sleep(zombieMs)
    }
  }

  #identity({ topic, url }: Receiver) {
    return { name, arguments: { topic }, delivery: { mode: 'webhook', url } }
  }

  /** Subscribes, or refreshes the subscription. */
  async #subscribe(receiver: Receiver, ttlMs: number = this.#world.random.pick([12 * hourMs, 3 * dayMs, 7 * dayMs])) {
    const isRefresh = receiver.active !== undefined
    // One that has expired may not have ended yet.
    receiver.refreshes += 1
    if (!isRefresh) receiver.begin()
    for (let failures = 0; ; failures += 1) {
      const { delivery, ...identity } = this.#identity(receiver)
      const secret = receiver.secrets.at(-1)
      const params = { ...identity, delivery: { ...delivery, secret }, cursor: receiver.cursor, ttlMs }
      const { result, error, wasRepeated } = await this.#send(receiver.user, 'events/subscribe', params)
      if (result) {
        receiver.cursor = this.#world.random.pick([String(result.cursor), null])
        assert.ok(!isRefresh || result.deliveryStatus || wasRepeated, 'a subscription that is active is created again')
        receiver.activate(String(result.id), this.#world.now(), Date.parse(String(result.refreshBefore)))
        return
      }
      assert.equal(error?.code, -32015, `events/subscribe: ${JSON.stringify(error)}`)
      assert.ok(failures < 3 + this.#world.faultCount, 'a receiver that answers is not verified')
    }
  }

  async #unsubscribe(receiver: Receiver): Promise<void> {
    const { error, wasRepeated } = await this.#send(receiver.user, 'events/unsubscribe', this.#identity(receiver))
    if (!wasRepeated) assert.equal(error, undefined, 'a subscription that is active is unknown')
    receiver.endAt(this.#world.now(), onTheWayMs, 'its client has unsubscribed')
  }

  /** Publishes events, some at the same time, some with a key. */
  async #publish(users: readonly User[]): Promise<void> {
    const { random } = this.#world
    const publishers = random.some(['x', 'y', undefined, undefined], random.whole(1, 3))
    await Promise.all(
      publishers.map(async (key) => {
        for (let count = random.whole(1, 5); count > 0; count -= 1) {
          const user = random.pick(users)
          const to = random.pick([{}, {}, { tenant: user.tenant }, { tenant: user.tenant, subject: user.subject }])
          const topic = random.pick(topics)
          await this.#save(random.pick(users), { topic, ...to, ...(key !== undefined && { key }) })
          if (random.chance(0.3)) await this.#world.sleep(random.pick([100, 5 * secondMs]))
        }
      }),
    )
  }

  async #save({ token }: User, event: object): Promise<void> {
    const saved = { ...event, number: this.#saved.length, sentAt: this.#world.now() } as Saved
    this.#saved.push(saved)
    const { sentAt: _, ...args } = saved
    const client = new StatelessClient(this.#world, token)
    const message = await client.askOnce('tools/call', { name: 'save', arguments: args })
    if (message?.result && !message.result.isError) saved.savedAt = this.#world.now()
    else if (message) this.#world.serverErrors.push(JSON.stringify(message).slice(0, 200))
  }

  /** The receiver accepts again, and gets all that it has missed. */
  async #recover(receiver: Receiver): Promise<void> {
    const { random } = this.#world
    const { manner } = receiver
    if (random.chance(0.15)) await this.#expire(receiver)
    receiver.answerWith('accept')
    if (!receiver.active) return this.#subscribe(receiver)
    if (random.chance(0.2)) {
      await this.#unsubscribe(receiver)
      if (random.chance(0.5)) await this.#world.sleep(random.pick([0, secondMs]))
      return this.#subscribe(receiver)
    }
    const refreshes = manner === 'unauthorized' || manner === 'gone' || random.chance(0.5)
    if (refreshes) {
      if (random.chance(0.3)) receiver.changeSecret()
      await this.#subscribe(receiver)
    }
    // The longest pause is an hour.
    await this.#receiveAll(receiver, refreshes ? 5 * minuteMs : 1.5 * hourMs)
  }

  /** The subscription expires while an event is published, and its client notices it. */
  async #expire(receiver: Receiver): Promise<void> {
    const { random } = this.#world
    const { user, topic } = receiver
    if (!receiver.active) return
    receiver.answerWith(random.pick(['accept', 'fail']))
    await this.#subscribe(receiver, minuteMs)
    await this.#world.sleep(receiver.active.until - this.#world.now() - random.between(0, 1000))
    await this.#save(user, { topic, tenant: user.tenant, subject: user.subject })
    await this.#world.sleep(receiver.active.until - this.#world.now() + random.between(0, 100))
    receiver.active = undefined
  }

  async #receiveAll(receiver: Receiver, mostMs: number): Promise<void> {
    const since = this.#world.now()
    for (let pauseMs = secondMs; receiver.missing.length > 0; pauseMs = Math.min(2 * pauseMs, minuteMs)) {
      const { quietMs } = this.#world
      const isLate = Math.min(this.#world.now() - since, quietMs) > Math.max(mostMs, 5 * minuteMs)
      const numbers = receiver.missing.map(({ number }) => number)
      assert.ok(!isLate, `events ${numbers} were acknowledged, and have not reached ${receiver.url}`)
      await this.#world.sleep(pauseMs)
    }
  }

  /** Ends the subscription, with events that wait for the receiver, or keeps it. */
  async #leave(receiver: Receiver): Promise<void> {
    const { random } = this.#world
    const way = random.pick(['stay', 'unsubscribe', 'expire'] as const)
    if (way === 'stay') return
    receiver.answerWith(random.pick(['accept', 'fail', 'silent']))
    await this.#publish([receiver.user])
    if (way === 'unsubscribe') return this.#unsubscribe(receiver)
    await this.#subscribe(receiver, minuteMs)
    receiver.endAt(Number(receiver.active?.until), onTheWayMs, 'it has expired')
  }

  /** The directory does not know a user any more, for whom events wait. */
  async #revoke(user: User): Promise<void> {
    const own = this.#receivers.filter((one) => one.user === user)
    for (const receiver of own) receiver.answerWith(this.#world.random.pick(['accept', 'fail', 'silent']))
    await this.#publish([user])
    this.#revoked.add(user.subject)
    for (const receiver of own) receiver.endAt(this.#world.now(), minuteMs, revoked)
  }
}
