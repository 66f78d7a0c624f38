/** One task whose every effect waits for an answer here, and what is to happen to its object meanwhile. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Chance } from '../support/random.ts'
import { type Attempt, type Falls, judge, type Loss } from './once.ts'
import type { Told } from './steps/told.ts'

/** What befalls one task alone, or all of them at once. */
export type Blow = 'eviction' | 'kill' | 'deploy'

/** Where a task is when its object is lost, from this step on: `anywhere` is a few milliseconds after an effect was answered. */
export type Point = { readonly step: number; readonly where: 'inside' | 'between' | 'anywhere'; readonly by: Blow }

/** Evicts the object of a task. */
export type Evict = (task: WatchedTask) => Promise<void>

/** Milliseconds that an effect takes at most, and longer ones of a run that will be lost while something is deployed. */
const [effectTakes, lastTakes] = [4, 40]
/** Answers to a run that will be lost. */
const mostLast = 30

export class WatchedTask {
  readonly id: string
  /** It may run before its client has heard of it. */
  readonly begun = Promise.withResolvers<string>()
  readonly attempts: Attempt[] = []
  readonly losses: Loss[] = []
  readonly #points: Point[]
  readonly #random: Chance
  readonly #evict: Evict
  readonly #broken = Promise.withResolvers<never>()
  #version: string
  #arrived = Promise.withResolvers<void>()
  #goOn = () => {}
  #isStruck = false
  #lastAnswers = 0

  constructor(id: string, version: string, points: readonly Point[], random: Chance, evict: Evict) {
    this.id = id
    this.#version = version
    this.#points = [...points]
    this.#random = random
    this.#evict = evict
    this.#broken.promise.catch(() => {})
  }

  /** Resolves when the task is where all of them are to be lost. */
  arrived(): Promise<void> {
    return Promise.race([this.#arrived.promise, this.#broken.promise])
  }

  /** Lets it run up to the loss, if that may come anywhere. */
  goOn(): void {
    this.#goOn()
  }

  /** Its object will not live long enough to come to an end. */
  lose(by: Blow, version = this.#version): void {
    const { run } = this.attempts.at(-1) as Attempt
    this.#version = version
    this.#lastAnswers = this.#random.below(mostLast)
    this.losses.push({ run, by, version })
  }

  /** What befell all tasks is over: the next loss may come. */
  recovered(): void {
    this.#isStruck = false
    this.#arrived = Promise.withResolvers()
    this.#goOn = () => {}
  }

  hear(told: Told, response: ServerResponse): void {
    const attempt = this.#note(told)
    const answer = () => {
      if (response.destroyed) return
      if (!told.kept) attempt.isAnswered = true
      response.end()
    }
    if (this.losses.some(({ run }) => run === told.run)) return this.#answerLost(answer)
    const point = this.#reached(told)
    if (!point) return this.#later(effectTakes, answer)
    this.#isStruck = true
    this.#strike(point, answer).catch(this.#broken.reject)
  }

  verdict(steps: number): Falls {
    assert.equal(this.#points.length, 0, `Task ${this.id} was not lost as often as it should have been`)
    return judge(`Task ${this.id}`, this.attempts, this.losses, steps)
  }

  #note({ step, run, version, kept }: Told): Attempt {
    const known = kept && this.attempts.find((one) => one.run === run && one.step === step)
    const attempt = known || { step, run, version, isAnswered: false, isKept: false }
    if (!known) this.attempts.push(attempt)
    attempt.isKept ||= kept
    return attempt
  }

  #reached({ step, kept }: Told): Point | undefined {
    const [point] = this.#points
    if (this.#isStruck || !point || step < point.step || kept !== (point.where === 'between')) return undefined
    return this.#points.shift()
  }

  async #strike({ where, by }: Point, answer: () => void): Promise<void> {
    if (by !== 'eviction') {
      if (where === 'anywhere') this.#goOn = answer
      return this.#arrived.resolve()
    }
    if (where === 'anywhere') {
      await pause(this.#random.between(0, effectTakes))
      answer()
      await pause(this.#random.between(0, effectTakes))
    }
    this.lose(by)
    await this.#evict(this)
    this.#isStruck = false
  }

  /** What is lost in a moment goes on as long as it may, but never to its end. */
  #answerLost(answer: () => void): void {
    if (this.#lastAnswers === 0) return
    this.#lastAnswers -= 1
    this.#later(lastTakes, answer)
  }

  #later(most: number, answer: () => void): void {
    setTimeout(answer, this.#random.between(0, most))
  }
}
