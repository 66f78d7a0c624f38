/** One schedule: who listens to what, what changes for whom, and what everybody has to have heard of it. */
import type { Chance } from '../../support/random.ts'
import {
  type Ear,
  HttpEar,
  isList,
  Listener,
  lists,
  mayRead,
  type Person,
  SessionEar,
  SseEar,
  type Word,
} from './ears.ts'

/** `tenant` `undefined`: for everybody. */
type Announcement = { word: Word; tenant: string | undefined }

/** One topic: who hears of one word for one tenant, or for all. Told again within 100 ms, it may be told once. */
const topicOf = ({ word, tenant }: Announcement) => JSON.stringify([word, tenant])

/** Everybody listens to it, and it changes in the end only. */
const fence = 'prompts'
const changingLists = lists.filter((list) => list !== fence)

/** What one has to have heard, and how often one may have. */
type Account = {
  /** Topics that are to be heard of before the round ends; or, by one who is away, when it comes back for them. */
  owed: Set<string>
  /** Heard since the round began, up to the place in `heard` that was looked at last. */
  since: Map<Word, number>
  at: number
  /** Ever. */
  most: Map<Word, number>
}

export class Case {
  readonly told: string[] = []
  /** How many changes were heard, but for the end. */
  heard = 0
  readonly #by: Chance
  readonly #seed: number
  readonly #url: URL
  readonly #ears: Ear[]
  readonly #accounts = new Map<Ear, Account>()
  /** Topics that were announced before: a moment later they may be told once more. */
  readonly #announced = new Map<string, Announcement>()
  readonly #tenants: readonly (string | undefined)[]
  readonly #words: readonly Word[]

  constructor(seed: number, by: Chance, url: URL) {
    this.#by = by
    this.#seed = seed
    this.#url = url
    // One that looks like another with a topic behind it.
    this.#tenants = [`acme ${seed}`, `globex ${seed}`, `acme ${seed}" tools`, undefined]
    this.#words = [
      ...['note', 'diary', 'ledger'].flatMap((kind) => [`${kind}://${seed}/1`, `${kind}://${seed}/2`]),
      ...['memo://N/1', 'memo://N/secret', 'letter://N/ada', 'letter://N/bob'].map((word) =>
        word.replace('N', String(seed)),
      ),
    ]
    this.#ears = by.some(3, by.rarely(20) ? 12 : 4, (index) => this.#newEar(index))
    for (const ear of this.#ears) this.#accounts.set(ear, { owed: new Set(), since: new Map(), most: new Map(), at: 0 })
  }

  /** @throws Error the first thing that was wrong, with all that was done until then */
  async play(): Promise<void> {
    try {
      await Promise.all(this.#ears.map((ear) => this.#open(ear)))
      for (let round = this.#by.whole(1, 3); round > 0; round--) await this.#playRound()
      await this.#finish()
    } catch (thrown) {
      const schedule = this.told.map((line) => `  ${line}`).join('\n')
      throw new Error(`${(thrown as Error).stack}\nTENANT_SEEDS=${this.#seed}:\n${schedule}`)
    } finally {
      await Promise.all(this.#ears.map((ear) => ear.end()))
    }
  }

  // Who is there

  #newEar(index: number): Ear {
    const by = this.#by
    // Some are the same person twice, or in two tenants.
    const person: Person = { subject: `${by.one(['ada', 'bob'])} ${this.#seed}`, tenant: by.one(this.#tenants) }
    const kind = by.one(['listener', 'listener', 'session', 'session', 'sse'])
    const name = `${kind} ${index + 1} (${person.subject} of ${person.tenant ?? 'nobody'})`
    if (kind === 'listener') return new Listener(name, person, this.#url)
    if (kind === 'sse') return new SseEar(name, person, this.#url)
    return new HttpEar(name, person, this.#url, by.one(['2025-03-26', '2025-06-18', '2025-11-25']))
  }

  /** What one may listen to: single resources, all of a template, lists. */
  #drawWords(most: number): Word[] {
    const templates = ['note', 'diary', 'ledger', 'memo', 'letter'].map((kind) => templateOf(`${kind}://1/1`))
    const fixed = ['board://bob', templateOf('memo://1/secret')]
    return [
      ...new Set(
        this.#by.some(0, most, () => this.#by.one([...this.#words, ...templates, ...fixed, ...changingLists])),
      ),
    ]
  }

  async #open(ear: Ear): Promise<void> {
    const words = [...new Set([...this.#drawWords(ear instanceof SessionEar ? 2 : 5), fence])]
    this.told.push(`${ear.name} listens to ${words.join(', ')}`)
    await ear.open(words)
    this.#forgive(ear)
    this.#expectLate(
      ear,
      [...this.#announced.values()].filter((each) => concerns(ear, each)),
    )
  }

  /** It began to listen to what was announced before, which may be about to be told. */
  #expectLate(ear: Ear, those: readonly Announcement[]): void {
    for (const { word } of those) count(this.#accountOf(ear).most, word, 1)
  }

  #accountOf(ear: Ear): Account {
    return this.#accounts.get(ear) as Account
  }

  /** What it has not heard it will not hear. */
  #forgive(ear: Ear): void {
    const account = this.#accountOf(ear)
    account.owed.clear()
    account.since.clear()
    account.at = ear.heard.length
  }

  /**
   * Something that one does: leaves, comes back, listens to something else.
   *
   * @returns what it does, and whether it stays sure to hear of what it listened to before
   */
  #drawMove(ear: Ear): { says: string; isSure: boolean; play(): Promise<void> } | undefined {
    const by = this.#by
    if (ear instanceof HttpEar && !ear.isThere) {
      const forMissed = ear.canMiss && by.often(0.7)
      const says = `${ear.name} comes back ${forMissed ? 'for what it missed' : 'from now on'}`
      return {
        says,
        isSure: forMissed,
        play: async () => {
          await ear.comeBack(forMissed)
          if (!forMissed) this.#forgive(ear)
        },
      }
    }
    if (!ear.isThere) return { says: `${ear.name} opens`, isSure: false, play: () => this.#open(ear) }
    if (ear instanceof SessionEar && by.often(0.5)) {
      const [old, fresh] = [[...ear.listens].filter((word) => !isList(word)), this.#drawWords(2)]
      const without = old.filter(() => by.rarely(2))
      const more = fresh.filter((word) => !isList(word) && !old.includes(word))
      const says = `${ear.name} takes ${more.join(', ') || 'nothing'} and leaves ${without.join(', ') || 'nothing'}`
      return {
        says,
        isSure: true,
        play: async () => {
          const before = new Set(ear.listens)
          for (const word of more) await ear.subscribe(word)
          for (const word of without) await ear.unsubscribe(word)
          const announced = [...this.#announced.values()].filter((each) => concerns(ear, each))
          this.#expectLate(
            ear,
            announced.filter((each) => !concerns(ear, each, before)),
          )
        },
      }
    }
    const isSure = ear instanceof HttpEar && ear.canMiss
    return {
      says: `${ear.name} leaves`,
      isSure,
      play: async () => {
        await ear.leave()
        if (ear instanceof HttpEar) return
        ear.listens.clear()
        this.#forgive(ear)
      },
    }
  }

  // What happens

  async #playRound(): Promise<void> {
    const by = this.#by
    const movers = this.#ears.filter(() => by.rarely(3))
    const calm = movers.flatMap((ear) => this.#drawMove(ear) ?? [])
    for (const { says } of calm) this.told.push(says)
    await Promise.all(calm.map((move) => move.play()))

    const announcements = by.some(2, 4, () => this.#drawAnnouncement())
    // Some say the same once more.
    const all = announcements.flatMap((each) => (by.rarely(3) ? [each, each] : [each]))
    const racing = this.#ears.filter(() => by.rarely(5)).map((ear) => ({ ear, move: this.#drawMove(ear) }))
    for (const { move } of racing) this.told.push(`meanwhile ${move?.says}`)
    this.told.push(all.map(({ word, tenant }) => `${word} for ${tenant ?? 'all'}`).join(' | '))

    const before = new Map(this.#ears.map((ear) => [ear, new Set(ear.listens)]))
    const sure = new Set(this.#ears)
    for (const { ear, move } of racing) if (!move?.isSure) sure.delete(ear)
    const topics = new Map(all.map((each) => [topicOf(each), each]))
    for (const [topic, each] of topics) this.#announced.set(topic, each)
    const began = performance.now()
    await Promise.all([this.#announce(all), ...racing.map(({ move }) => move?.play())])
    const spread = performance.now() - began

    for (const ear of this.#ears) {
      const { owed, most } = this.#accountOf(ear)
      for (const [topic, each] of topics) {
        const did = concerns(ear, each, before.get(ear))
        const does = concerns(ear, each)
        const times = all.filter((other) => topicOf(other) === topic).length
        if (did || does) count(most, each.word, Math.min(times, 2 + Math.floor(spread / 100)))
        if (did && does && sure.has(ear) && (ear.isThere || ear instanceof HttpEar)) owed.add(topic)
      }
    }
    await Promise.all(this.#ears.map((ear) => this.#settle(ear)))
  }

  #drawAnnouncement(): Announcement {
    const by = this.#by
    const word = by.rarely(3) ? by.one(changingLists) : by.rarely(8) ? 'board://bob' : by.one(this.#words)
    return { word, tenant: by.rarely(3) ? undefined : by.one(this.#tenants) }
  }

  async #announce(all: readonly Announcement[]): Promise<void> {
    const said = all.map(({ word, tenant }) => ({ ...(isList(word) ? { list: word } : { uri: word }), tenant }))
    const response = await fetch(new URL('announce', this.#url), { method: 'POST', body: JSON.stringify(said) })
    if (response.status !== 204) throw new Error(`Nothing was announced: ${response.status}`)
  }

  /** Whoever is there hears all it is owed. */
  async #settle(ear: Ear): Promise<void> {
    if (!ear.isThere) return
    const account = this.#accountOf(ear)
    const owed = new Map<Word, number>()
    for (const topic of account.owed) count(owed, (JSON.parse(topic) as [Word])[0], 1)
    const missing = () => {
      for (const word of ear.heard.slice(account.at)) count(account.since, word, 1)
      account.at = ear.heard.length
      return [...owed].filter(([word, times]) => (account.since.get(word) ?? 0) < times)
    }
    if (!(await ear.until(() => missing().length === 0))) {
      throw new Error(`${ear.name} does not hear of ${missing().join(' | ')} (word, times)`)
    }
    this.#forgive(ear)
  }

  // What was heard in the end

  async #finish(): Promise<void> {
    await Promise.all(
      this.#ears
        .filter((ear) => !ear.isThere)
        .map((ear) => {
          const move = this.#drawMove(ear)
          this.told.push(`in the end ${move?.says}`)
          return move?.play()
        }),
    )
    await Promise.all(this.#ears.map((ear) => this.#settle(ear)))
    // Said again at once, it is told 100 ms later: after all that was to be told again before it.
    for (const times of [1, 2]) {
      await this.#announce([{ word: fence, tenant: undefined }])
      for (const ear of this.#ears) {
        if (await ear.until(() => timesOf(ear, fence) >= times)) continue
        throw new Error(`${ear.name} hears the end ${timesOf(ear, fence)} times, and should ${times} times`)
      }
    }
    for (const ear of this.#ears) {
      const { most } = this.#accountOf(ear)
      for (const word of new Set(ear.heard)) {
        const limit = word === fence ? 2 : (most.get(word) ?? 0)
        if (!mayRead(ear.person, word)) throw new Error(`${ear.name} hears of ${word}, which it may not read`)
        if (timesOf(ear, word) > limit) {
          throw new Error(`${ear.name} hears of ${word} ${timesOf(ear, word)} times, and should at most ${limit} times`)
        }
      }
      this.heard += ear.heard.length - timesOf(ear, fence)
      const [complaint] = ear.complaints
      if (complaint) throw new Error(`${ear.name} ${complaint}`)
    }
  }
}

/** The template that serves a URI. One of letters nobody may listen to. */
const templateOf = (word: Word): Word =>
  word.replace(/\/\/\d+\//, '//{seed}/').replace(/\/(?!secret$)\w+$/, word.startsWith('letter:') ? '/{to}' : '/{id}')

/** Does it listen to this, or did it when it listened to these? */
function concerns(
  { person, listens }: Ear,
  { word, tenant }: Announcement,
  those: ReadonlySet<Word> = listens,
): boolean {
  if (tenant !== undefined && tenant !== person.tenant) return false
  return those.has(word) || those.has(templateOf(word))
}

const timesOf = ({ heard }: Ear, word: Word) => heard.filter((other) => other === word).length

const count = (counts: Map<Word, number>, word: Word, by: number) => counts.set(word, (counts.get(word) ?? 0) + by)
