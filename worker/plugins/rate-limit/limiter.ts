/**
 * The limits of a caller: how often, how many at a time, how long, how large. The error of a rejected call states when to retry, in the
 * header for programs and in the message for models.
 *
 * @see https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/
 * @see https://www.rfc-editor.org/rfc/rfc6585#section-4 429
 */

import type { CallAttempt } from '../../declarations/call-attempt.ts'
import type { Guarded, RateLimit } from '../../declarations/caller.ts'
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import type { Declarations } from '../../declarations/declarations.ts'
import { type Duration, milliseconds } from '../../declarations/duration.ts'
import * as kind from '../../declarations/option-kinds.ts'
import { isPermitted } from '../../engine/methods/lists.ts'
import { resolve } from '../../engine/resolve.ts'
import type { Plugin, Runtime } from '../../plugin.ts'
import { McpError, tooManyRequests } from '../../protocol/errors.ts'
import { isRequest } from '../../protocol/jsonrpc.ts'
import type { IncomingRequest } from '../../request-hooks.ts'
import { type CountedPer, callerOf } from './caller.ts'
import { type Entered, leaseOf, type Slot, Slots } from './concurrency.ts'
import { type DeclaredLimit, DeclaredLimits, limitsWithState, readLimit } from './declared-limits.ts'
import { bindingOf, type Rate, rateText } from './parse-rate.ts'
import { type Counted, take } from './quota.ts'

/** Configures the limits for all calls of one caller together. */
export type RateLimitOptions = RateLimit & {
  /**
   * The caller that all limits count for, those of single entries too. `'user'`: a user, whatever OAuth clients they use. `'client'`: each client
   * of a user; where clients can register themselves, a user has as many as they want. Default: `'user'`.
   */
  per?: CountedPer
  /** Streams that one caller holds open at the same time, in one isolate. Default: 50. */
  streams?: number
  /**
   * Duration that a handler may run, without the time in which it waits for its client. Runs of tasks are not limited. `Infinity`
   * removes the limit. Default: 5 minutes.
   */
  time?: Duration
  /** Characters of the arguments of one call, as JSON. Beyond it, the response is 413. Default: the size of the body. */
  arguments?: number
}

type RateLimiting = { limit(options: { key: string }): Promise<{ success: boolean }> }

/** The limit that was exceeded: `data.reason` of the error. */
type LimitReason = 'rate' | 'quota' | 'concurrent' | 'streams'

const defaults = { concurrent: 50, streams: 50, time: 5 * 60_000 }

const kinds: KindsOf<RateLimitOptions> = {
  per: [(value) => value === 'user' || value === 'client', '"user" or "client"'],
  rate: kind.string,
  quota: kind.string,
  concurrent: kind.atLeastOne,
  streams: kind.amount,
  time: kind.durationOrInfinity,
  arguments: kind.amount,
}

type Bindings = () => Readonly<Record<string, unknown>>

/** Milliseconds that handlers may run; `undefined`: no limit. */
export function timeOf({ time = defaults.time }: RateLimitOptions): number | undefined {
  return time === Number.POSITIVE_INFINITY ? undefined : milliseconds(time, 'rateLimit() time')
}

/** @throws Error with one sentence that names the fix */
export function limiter(options: RateLimitOptions, bindings: Bindings): Required<Pick<Plugin, 'validate' | 'provide'>> {
  checkOptions('rateLimit()', options, kinds)
  const common = readLimit({ concurrent: defaults.concurrent, ...options }, '', 'rateLimit()')
  const declared = new DeclaredLimits(common)
  const limits = new RateLimiter(options, declared, bindings)
  return {
    validate: ({ declarations }) => declared.read(declarations),
    provide: (runtime) => ({
      limiter: {
        callerOf: (incoming) => limits.callerOf(incoming, runtime),
        countRound: (attempt) => limits.countRound(runtime, attempt),
        check: (incoming) => limits.check(incoming, runtime),
        // Written out, so that bundlers leave nothing of it to a deployment.
        ...(globalThis.process?.env?.NODE_ENV === 'development' && {
          needsState: (declarations: Declarations) => limitsWithState(common, declarations, bindings()),
        }),
        track: limits.track.bind(limits),
      },
    }),
  }
}

class RateLimiter {
  readonly #declared: DeclaredLimits
  readonly #bindings: Bindings
  readonly #per: CountedPer
  readonly #maxStreams: number
  /** Characters, as JSON. */
  readonly #maxArguments: number
  readonly #leaseMs: number
  readonly #slots = new Slots()
  /** Separate from `#slots`, whose keys contain names of tools. */
  readonly #streams = new Slots()
  readonly #releases = new WeakMap<IncomingRequest, () => void>()

  constructor(options: RateLimitOptions, declared: DeclaredLimits, bindings: Bindings) {
    this.#declared = declared
    this.#bindings = bindings
    this.#per = options.per ?? 'user'
    this.#maxStreams = options.streams ?? defaults.streams
    this.#maxArguments = options.arguments ?? Number.POSITIVE_INFINITY
    this.#leaseMs = leaseOf(timeOf(options))
  }

  callerOf(incoming: IncomingRequest, endpoint: Pick<Runtime, 'identity'>): string {
    return callerOf(incoming, endpoint, this.#per)
  }

  /** Counts one round of a call. @throws McpError see `Limiter` */
  async countRound(runtime: Runtime, attempt: CallAttempt): Promise<() => void> {
    const { declarations } = runtime
    const { caller, entries, isResumed } = attempt
    const length = this.#maxArguments < Number.POSITIVE_INFINITY ? argumentsLength(attempt) : 0
    if (length > this.#maxArguments) {
      throw new McpError('content_too_large', `The arguments are too long: at most ${this.#maxArguments} characters`)
    }
    const isOpen = entries.length < 2 && !entries[0]?.visibleTo
    const isLimited = entries.some(({ rateLimit }) => rateLimit)
    const limits = this.#declared.of(declarations, isLimited && !isOpen ? await reachable(attempt) : entries)
    const { release } = await this.#takeSlots(attempt, limits, declarations)
    if (attempt.endsWithSignal) attempt.signal().addEventListener('abort', release, { once: true })
    try {
      const error = isResumed ? undefined : await this.#exhausted(limits, caller, runtime, attempt.post)
      if (error) throw error
      return release
    } catch (thrown) {
      release()
      throw thrown
    }
  }

  /** Counts streams and handshakes. @returns the error beyond a limit */
  async check(incoming: IncomingRequest, runtime: Runtime): Promise<McpError | undefined> {
    const caller = this.callerOf(incoming, runtime)
    const { request, messages = [] } = incoming
    const isHeld = isStanding(incoming)
    const isHandshake = messages.some((message) => isRequest(message) && message.method === 'initialize')
    if (!isHeld && !isHandshake) return undefined
    const requested: Slot[] = isHeld ? [{ key: caller, most: this.#maxStreams }] : []
    const entered = this.#streams.take(requested, Number.POSITIVE_INFINITY)
    if ('full' in entered) return crowded('Too many streams are open', this.#maxStreams, 'streams')
    const { release } = entered
    this.#releases.set(incoming, release)
    // The runtime may end a request whose client has gone without a word.
    if (isHeld) request.signal.addEventListener('abort', release, { once: true })
    const { common } = this.#declared
    // A GET is no call. It opens a stream for calls that were counted, or for none.
    const counted = request.method === 'GET' ? { ...common, quota: undefined } : common
    const error = await this.#exhausted([counted], caller, runtime, incoming)
    if (error) release()
    return error
  }

  /** Releases what `check` took, once the response has ended. */
  track(incoming: IncomingRequest, response: Response): Response {
    const release = this.#releases.get(incoming)
    if (!release) return response
    const { body } = response
    if (!body || !response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
      release()
      return response
    }
    return new Response(untilEnd(body, release), response)
  }

  /** @throws McpError `too_many_requests` when a slot is not free. A resumed call waits for it */
  async #takeSlots(
    attempt: CallAttempt,
    limits: readonly DeclaredLimit[],
    declarations: Declarations,
  ): Promise<Entered> {
    const { caller } = attempt
    const bounded = limits.filter(({ concurrent }) => concurrent < Number.POSITIVE_INFINITY)
    if (attempt.isResumed) {
      const requested = bounded.map(({ what, concurrent }) => ({ key: `${caller} ${what}`, most: concurrent }))
      return this.#slots.takeWhenFree(requested, this.#leaseMs, attempt.signal())
    }
    const parked: DeclaredLimit[] = []
    if (bounded.length > 0)
      for (const { call } of attempt.parked()) {
        parked.push(...this.#declared.of(declarations, resolve(declarations, call.request).found.entries))
      }
    const entered = this.#slots.take(
      bounded.map((limit) => ({
        key: `${caller} ${limit.what}`,
        most: limit.concurrent,
        parked: parked.filter((other) => other === limit).length,
      })),
      this.#leaseMs,
    )
    if (!('full' in entered)) return entered
    const { full } = entered
    const { what } = bounded.find((limit) => full.key === `${caller} ${limit.what}`) ?? this.#declared.common
    const problem = what === '' ? 'Too many calls are running' : `Too many calls of ${what} are running`
    throw crowded(problem, full.most, 'concurrent')
  }

  /** Counts a call under all limits. If one of the exact counters is full, none of them counts the call. */
  async #exhausted(
    limits: readonly DeclaredLimit[],
    caller: string,
    runtime: Runtime,
    post: object,
  ): Promise<McpError | undefined> {
    const own: OwnCounter[] = []
    /** Upstreams that may have an entry can have the same rate for it. */
    const counted = new Set<string>()
    for (const { what, rate, quota } of limits) {
      if (quota) own.push({ what, limit: quota, reason: 'quota' })
      if (!rate) continue
      // Wrangler makes it from the configuration.
      const binding = this.#bindings()[bindingOf(rate)] as RateLimiting | undefined
      // Without the platform's the exact counter does it, which costs a request to an object.
      if (!binding) own.push({ what, limit: rate, reason: 'rate' })
      else if (!counted.has(`${rate.text} ${what}`)) {
        counted.add(`${rate.text} ${what}`)
        if (!(await binding.limit({ key: `${caller} ${what}` })).success) return spent(what, rate, rate.seconds, 'rate')
      }
    }
    if (own.length === 0) return undefined
    const full = await take((name) => runtime.object('McpState', name), caller, own.map(countedOf), post)
    const exceeded = full && own[full.index]
    return exceeded && spent(exceeded.what, exceeded.limit, full.wait, exceeded.reason)
  }
}

/**
 * Returns the entries that the caller may use, of those that a call may name: a limit of its own would show that a hidden entry exists, and
 * only the call shows which of several upstreams has the entry.
 */
async function reachable(attempt: CallAttempt): Promise<readonly Guarded[]> {
  const { entries } = attempt
  const isSole = entries.length === 1
  const usable = await Promise.all(
    entries.map((entry) => (isSole || isPermitted(entry, attempt)) && attempt.sees(entry)),
  )
  return entries.filter((_, index) => usable[index])
}

/** A limit that a Durable Object counts. */
type OwnCounter = { readonly what: string; readonly limit: Rate; readonly reason: LimitReason }

const countedOf = ({ what, limit: { text, times, seconds } }: OwnCounter): Counted => ({
  name: `${what} ${text}`,
  most: times,
  seconds,
})

/** Returns the same stream, and calls back when either side ends it. */
function untilEnd(body: ReadableStream<Uint8Array>, ended: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        ended()
        controller.close()
      },
      async cancel(reason) {
        ended()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

const argumentsLength = ({ params }: CallAttempt): number => JSON.stringify(params?.arguments ?? '').length

/** Whether a request opens a stream that stays open. */
const isStanding = ({ request, messages = [] }: IncomingRequest): boolean =>
  request.method === 'GET' ||
  messages.some((message) => isRequest(message) && message.method === 'subscriptions/listen')

const crowded = (problem: string, limit: number, reason: LimitReason): McpError =>
  tooMany(`${problem}: at most ${limit} at a time. Wait for one to end, then try again`, 1, reason)

const spent = (what: string, rate: Rate, wait: number, reason: LimitReason): McpError =>
  tooMany(
    `Too many ${what === '' ? 'requests' : `calls of ${what}`}: ${rateText(rate)}. ` +
      `Wait ${wait} ${wait === 1 ? 'second' : 'seconds'}, then try again`,
    wait,
    reason,
  )

/** @param wait seconds */
const tooMany = (message: string, wait: number, reason: LimitReason): McpError => tooManyRequests(message, wait, reason)
