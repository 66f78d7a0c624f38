/** One execution of a handler from its start: what it reads from the journal, and what it adds. */
import type { AskOptions } from '../declarations/context.ts'
import { durationMs } from '../declarations/option-kinds.ts'
import * as bounds from '../protocol/bounds.ts'
import { ClientError, type McpError } from '../protocol/errors.ts'
import { jsonText } from '../protocol/json-text.ts'
import type { InputRequest } from '../protocol/types.ts'
import { AwaitGuard } from './await-guard.ts'
import type { CallEnvironment, Outcome } from './call.ts'
import { checkEffect } from './check-arguments.ts'
import { checkKey } from './check-key.ts'
import { InvalidInputResponse } from './invalid-input-response.ts'
import { type Answer, type Journal, maxAnswerTimeoutMs } from './journal.ts'
import { fingerprint } from './request-input.ts'
import { roundLimitError } from './round-limits.ts'

/** Turns of the microtask queue in which a handler ends when the error of a request that cannot be sent is not caught. */
const turnsToEnd = 50

type RoundEnvironment = Pick<CallEnvironment, 'beforeEffect' | 'effect' | 'report' | 'inputPromise' | 'waitForBranches'>

/** The input requests, input responses and effects of a round, by key. Most handlers have none. */
class Records {
  /** Open input requests. */
  readonly open = new Map<string, InputRequest>()
  readonly fingerprints: Map<string, string>
  /** Input responses of this round and of earlier ones. */
  readonly responses: Map<string, Answer>
  readonly effects: Map<string, { readonly value?: unknown }>
  /** Keys that the handler has used in this round. */
  readonly usedKeys = new Set<string>()
  /** Keys of the input responses that the handler has received. */
  readonly consumedKeys = new Set<string>()
  /** Running effects. Their results are part of the journal of this round. */
  readonly running = new Set<Promise<unknown>>()

  constructor(journal: Journal) {
    this.fingerprints = new Map(Object.entries(journal.requestFingerprints))
    this.responses = new Map(Object.entries(journal.answers).filter(([key]) => this.fingerprints.has(key)))
    this.effects = new Map(Object.entries(journal.effects))
  }
}

export class Round {
  /** Settles if the round ends before its handler: input requests are open, or the handler or a response is invalid. */
  readonly ended: Promise<Outcome>
  /** All that the handler does through its context passes this guard. */
  readonly guard: AwaitGuard
  readonly #end: (outcome: Outcome) => void
  readonly #reject: (error: McpError) => void
  readonly #journal: Journal
  readonly #environment: RoundEnvironment
  #usedRecords: Records | undefined
  #answerTimeoutMs = maxAnswerTimeoutMs
  #isClosed = false
  #hasRefused = false
  /** The key of the effect that is being started. */
  #startingEffect: string | undefined
  #notificationCount = 0

  constructor(journal: Journal, environment: RoundEnvironment) {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
    // `run` races it against the handler, which may have ended.
    promise.catch(() => {})
    this.ended = promise
    this.#end = resolve
    this.#reject = reject
    this.#journal = journal
    this.#environment = environment
    this.guard = new AwaitGuard({
      running: () => this.#records.running,
      onForgotten: (error) => {
        this.#isClosed = true
        void this.fail(error)
      },
    })
  }

  get #records(): Records {
    this.#usedRecords ??= new Records(this.#journal)
    return this.#usedRecords
  }

  /** Called when the handler has ended: sends nothing more for it. */
  close(): void {
    this.#isClosed = true
  }

  /**
   * Counts a notification. Returns the number of notifications of the call so far; `undefined` for one that must not be sent, because an
   * earlier round sent it or the round has ended.
   */
  countNotification(): number | undefined {
    if (this.#isClosed) return undefined
    this.#notificationCount += 1
    return this.#notificationCount > this.#journal.notificationsSent ? this.#notificationCount : undefined
  }

  /** The key of the effect that is being started, if one is. */
  get startingEffect(): string | undefined {
    return this.#startingEffect
  }

  /** Marks an error that ends the handler unless it is caught, so that no request is sent before that is known. */
  refuse<E>(error: E): E {
    this.#hasRefused = true
    return error
  }

  /** Ends the round with an error. The promise never settles, so that the handler does not mistake the error for a response. */
  fail(error: McpError): Promise<never> {
    // A response that is invalid is a fault of the client. A task runs again to request another.
    if (error instanceof InvalidInputResponse) void this.#closeWhenIdle().then(() => this.#reject(error))
    else {
      this.#environment.report(error)
      this.#reject(error)
    }
    return new Promise<never>(() => {})
  }

  /** @throws Error for a key that is too long or that the handler has used in this round, and for an input request inside an effect */
  reserveKey(key: string, kind: 'question' | 'once'): void {
    if (kind === 'question' && this.#startingEffect !== undefined) {
      throw this.refuse(new Error(`The input request "${key}" is inside ctx.once: request input before it`))
    }
    if (kind === 'question' && key.length > bounds.nameCharacters) {
      throw this.refuse(
        new Error(`The key of an input request has ${key.length} characters: use at most ${bounds.nameCharacters}`),
      )
    }
    if (this.#records.usedKeys.has(key)) {
      throw this.refuse(new Error(`The key "${key}" is used twice in one call: use each key once`))
    }
    this.#records.usedKeys.add(key)
  }

  isUsed(key: string): boolean {
    return this.#records.usedKeys.has(key)
  }

  /** Records the fingerprint of an input request. Returns `false` if the journal contains a response to another request under this key. */
  identify(key: string, request: InputRequest): boolean {
    const print = fingerprint(request)
    if (Object.hasOwn(this.#journal.answers, key) && (this.#records.fingerprints.get(key) ?? print) !== print)
      return false
    this.#records.fingerprints.set(key, print)
    return true
  }

  /**
   * Returns the result of the client's response; `undefined` without a response.
   *
   * @param known a response that the client sent in another call
   * @throws ClientError when the client responded with an error
   */
  responseTo(key: string, known?: Answer): unknown {
    const response = Object.hasOwn(this.#journal.answers, key) ? this.#journal.answers[key] : known
    if (!response) return undefined
    this.#records.consumedKeys.add(key)
    this.#records.responses.set(key, response)
    if ('error' in response) throw new ClientError(key, response.error)
    return response.result
  }

  /**
   * Opens an input request, and ends the round. The promise never settles, so that no `catch` of the handler handles it, unless the
   * environment says otherwise.
   *
   * @throws Error for an input request beyond the number that a client can answer at once
   */
  open(key: string, request: InputRequest, { timeout = this.#answerTimeoutMs }: AskOptions = {}): Promise<never> {
    if (this.#records.open.size === bounds.inputResponses) {
      throw this.refuse(
        new Error(
          `The input request "${key}" is beyond the ${bounds.inputResponses} that may be open: request it after their responses`,
        ),
      )
    }
    const promise = this.#environment.inputPromise?.() ?? new Promise<never>(() => {})
    // Requests of the same turn travel together.
    if (this.#records.open.size === 0) queueMicrotask(() => this.#endWithRequests())
    this.#records.open.set(key, request)
    this.#answerTimeoutMs = Math.min(this.#answerTimeoutMs, Math.round(durationMs(timeout)))
    return promise
  }

  /** Opens an input request, and ignores a response that the journal contains. */
  reopen(key: string, request: InputRequest, options?: AskOptions): Promise<never> {
    this.#records.responses.delete(key)
    this.#records.fingerprints.set(key, fingerprint(request))
    return this.open(key, request, options)
  }

  /** Runs an effect, or returns the result in the journal. Resolves with JSON, as in later rounds. */
  async runEffect(key: string, effect: () => unknown): Promise<unknown> {
    checkKey('once', key, 'effect')
    if (globalThis.process?.env?.NODE_ENV !== 'production') checkEffect(key, effect)
    this.reserveKey(key, 'once')
    const done = this.#records.effects.get(key)
    if (done) return done.value
    // No journal would have the result, so the next round runs the effect.
    if (this.#isClosed) return new Promise<never>(() => {})
    // Started in a microtask at the earliest, so that a throw becomes a rejection.
    const work = Promise.resolve(this.#environment.beforeEffect?.())
      .then(() => {
        this.#startingEffect = key
        try {
          return effect()
        } finally {
          this.#startingEffect = undefined
        }
      })
      .then((value) => {
        // `undefined` in a list is `null`, as the type says: effects such as sending mails return lists of it.
        const json = jsonText(value, `ctx.once("${key}", …) returned`, TypeError, true)
        return json === undefined ? undefined : JSON.parse(json)
      })
    this.#records.running.add(work)
    try {
      const value: unknown = await work
      this.#records.effects.set(key, { value })
      this.#environment.effect?.(key, value)
      return value
    } finally {
      this.#records.running.delete(work)
    }
  }

  /** @returns whether the round was open until now */
  async #closeWhenIdle(): Promise<boolean> {
    do {
      // Effects that run beside an input request belong to this round: its journal has their results.
      while (this.#records.running.size > 0) await Promise.allSettled(this.#records.running)
      // A request that was refused may end the handler, and so may one that it does not await. No request is sent before that is known.
      for (let turn = 0; (this.#hasRefused || this.guard.hasUnawaited) && turn < turnsToEnd; turn++) await undefined
      await this.#environment.waitForBranches?.()
      // A handler that catches the refusal may start an effect.
    } while (this.#records.running.size > 0)
    const wasOpen = !this.#isClosed
    this.#isClosed = true
    return wasOpen
  }

  async #endWithRequests(): Promise<void> {
    if (!(await this.#closeWhenIdle())) return
    const unused = [...this.#records.responses.keys()].filter((key) => !this.#records.consumedKeys.has(key))
    const isUseless = unused.length > 0 && unused.length === this.#records.responses.size
    const unusedRounds = isUseless ? this.#journal.unusedRounds + 1 : 0
    const rounds = this.#journal.rounds + 1
    const error = roundLimitError({ all: rounds, unused: unusedRounds }, unused, [...this.#records.open.keys()])
    if (error) return void this.fail(error)
    this.#end({
      type: 'input_required',
      inputRequests: Object.fromEntries(this.#records.open),
      journal: this.#nextJournal(rounds, unusedRounds),
      answerTimeoutMs: this.#answerTimeoutMs,
    })
  }

  #nextJournal(rounds: number, unusedRounds: number): Journal {
    return {
      answers: Object.fromEntries(this.#records.responses),
      effects: Object.fromEntries(this.#records.effects),
      notificationsSent: Math.max(this.#notificationCount, this.#journal.notificationsSent),
      requestFingerprints: Object.fromEntries(this.#records.fingerprints),
      rounds,
      unusedRounds,
    }
  }
}
