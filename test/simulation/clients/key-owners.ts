/** Owners of API keys, which an operator creates, rotates and revokes. */
import assert from 'node:assert/strict'
import type { World } from '../world.ts'
import { callWith, operate, post } from './app.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** That of the server. */
const maxKeys = 3
const subject = 'key-owner'
/** How long the keys are valid, and those that were replaced. */
const lifeMs = 40 * hourMs
const graceMs = hourMs

/** A key that its owner has received. It is accepted before `sureUntil`, and not after `until`: milliseconds since 1970. */
type Key = { readonly id: string; readonly text: string; sureUntil: number; until: number; usedAt: number }

type Listed = { readonly id: string; readonly replacedBy?: string; readonly lastUsedAt?: number }

/** A key is accepted as long as it is valid, and no longer. An owner has no more keys than the limit. */
export function keyOwners(world: World): void {
  const { random } = world
  world.start('key owners', async () => {
    const owner = new KeyOwner(world)
    for (let rounds = random.whole(2, 6); rounds > 0; rounds -= 1) {
      const act = random.pick(['create', 'create', 'rotate', 'revoke'] as const)
      await owner[act]()
      await owner.check()
      await world.sleep(random.pick([0, minuteMs, 3 * hourMs]))
    }
    await world.sleep(lifeMs + 2 * minuteMs)
    await owner.check()
    await world.sleep(hourMs)
    const left = [...world.stored('McpApiKeys')].filter((one) => JSON.stringify(one).includes(subject))
    assert.deepEqual(left, [], 'keys have outlived their time')
  })
}

class KeyOwner {
  readonly #world: World
  readonly #owner = { subject }
  #keys: Key[] = []
  /** Rotations whose answers were lost: each may leave both keys. */
  #lostRotations = 0

  constructor(world: World) {
    this.#world = world
  }

  /** Creates keys at the same time: as many as the owner may have. */
  async create(): Promise<void> {
    const { random, faultCount } = this.#world
    const before = await this.#count()
    const wanted = random.whole(1, 4)
    const params = { owner: this.#owner, expiresIn: lifeMs }
    const created = await Promise.all(Array.from({ length: wanted }, () => this.#receive('createKey', params)))
    if (faultCount > 0 || this.#world.faultCount > 0) return
    const count = created.filter((one) => typeof one === 'object').length
    assert.equal(
      count,
      Math.min(wanted, maxKeys - before),
      `of ${before} keys and ${wanted} more, ${count} were created`,
    )
  }

  /** Replaces a key, also twice at the same time. */
  async rotate(): Promise<void> {
    const { random } = this.#world
    const key = this.#pick()
    if (!key) return
    key.sureUntil = Math.min(key.sureUntil, this.#world.now() + graceMs)
    const params = { owner: this.#owner, id: key.id, grace: graceMs }
    const rotated = await Promise.all(
      Array.from({ length: random.whole(1, 2) }, () => this.#receive('rotateKey', params)),
    )
    const count = rotated.filter((one) => typeof one === 'object').length
    this.#lostRotations += rotated.filter((one) => one === 'lost').length
    assert.ok(count <= 1, 'a key was rotated twice')
    if (this.#world.faultCount === 0) assert.equal(count, 1, 'a key was not rotated')
    if (count === 1) key.until = Math.min(key.until, this.#world.now() + graceMs)
  }

  async revoke(): Promise<void> {
    const key = this.#pick()
    if (!key) return
    key.sureUntil = 0
    await operate(this.#world, 'revokeKey', { owner: this.#owner, id: key.id })
    // An isolate that has verified a key accepts it for a minute.
    key.until = this.#world.now() + minuteMs
    if (this.#world.random.chance(0.5)) await this.#world.sleep(minuteMs)
  }

  async check(): Promise<void> {
    const count = await this.#count()
    const most = maxKeys + this.#lostRotations
    assert.ok(count <= most, `the owner has ${count} keys of at most ${most}`)
    const listed = new Map((await this.#list()).map((one) => [one.id, one]))
    for (const key of this.#keys) {
      const started = this.#world.now()
      const text = await callWith(this.#world, key.text, 'whoami')
      if (started >= key.until) assert.equal(text, undefined, 'a key is accepted after its end')
      if (this.#world.now() >= key.sureUntil) continue
      assert.equal(text, subject, 'a key that is valid is refused')
      const { lastUsedAt = 0 } = listed.get(key.id) ?? assert.fail('a key is not listed')
      // A use is stored after the response.
      const isNoted = lastUsedAt > key.usedAt - hourMs - 2 * minuteMs || started < key.usedAt + minuteMs
      assert.ok(isNoted || this.#world.faultCount > 0, 'the last use of a key is too old')
      key.usedAt = started
    }
    // An isolate counts unknown keys.
    this.#keys = this.#keys.filter(({ until }) => until > this.#world.now())
  }

  #pick(): Key | undefined {
    const soon = this.#world.now() + 2 * graceMs
    const current = this.#keys.filter(({ sureUntil }) => sureUntil > soon)
    return current.length > 0 ? this.#world.random.pick(current) : undefined
  }

  async #list(): Promise<readonly Listed[]> {
    return (await operate(this.#world, 'listKeys', { owner: this.#owner })) as readonly Listed[]
  }

  /** Returns the number of keys that were not replaced. */
  async #count(): Promise<number> {
    return (await this.#list()).filter(({ replacedBy }) => replacedBy === undefined).length
  }

  /** Sends a request for a key once: another one would create another key. */
  async #receive(act: string, params: object): Promise<Key | 'refused' | 'lost'> {
    const sent = this.#world.now()
    const answer = await post(this.#world, `/operator/${act}`, params)
    if (answer?.status !== 200) {
      if (answer) this.#world.serverErrors.push(answer.text.slice(0, 200))
      return 'lost'
    }
    const { result, refused } = JSON.parse(answer.text)
    if (refused !== undefined) return 'refused'
    const until = this.#world.now() + lifeMs
    const key = { id: result.id, text: result.key, sureUntil: sent + lifeMs, until, usedAt: 0 }
    this.#keys.push(key)
    return key
  }
}
