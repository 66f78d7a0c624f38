/**
 * How much a caller may ask: how often, how many at a time, how long, how large. What is refused says when to come back, in
 * the header for programs and in words for models.
 *
 * @see https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/
 * @see https://www.rfc-editor.org/rfc/rfc6585#section-4 429
 */

import type { CallAttempt } from '../../declarations/call-attempt.ts'
import type { RateLimit } from '../../declarations/caller.ts'
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import type { Declarations } from '../../declarations/declarations.ts'
import * as kind from '../../declarations/option-kinds.ts'
import { entryOf } from '../../engine/scopes.ts'
import { McpError, tooManyRequests } from '../../protocol/errors.ts'
import { isRequest } from '../../protocol/jsonrpc.ts'
import type { IncomingRequest, Limiter, ServerInfo } from '../../request-hooks.ts'
import { callerOf } from './caller.ts'
import { type Counted, take } from './quota.ts'
import { bindingOf, type Rate, rateText, readQuota, readRate } from './rate.ts'
import { type Slot, Slots } from './slots.ts'

export type RateLimitOptions = RateLimit & {
  /** Streams that one caller may hold open at a time in one isolate. Default 50. */
  streams?: number
  /** Milliseconds that a handler may run without waiting for its client. Default five minutes; `Infinity`: no limit. */
  time?: number
  /** Characters of the arguments of one call, as JSON. Default: what fits the body. */
  arguments?: number
}

type RateLimiting = { limit(options: { key: string }): Promise<{ success: boolean }> }

/** What one caller may do with the server, or one thing on it. */
type Read = {
  readonly what: string
  readonly rate: Rate | undefined
  readonly quota: Rate | undefined
  readonly concurrent: number
}

/** Which limit refuses, as `data.reason` of the error says it. */
type LimitReason = 'rate' | 'quota' | 'concurrent' | 'streams'

const defaults = { concurrent: 50, streams: 50, time: 5 * 60_000 }

/** Milliseconds that a call may take besides its handler's time. */
const leaseMarginMs = 10_000

const kinds: KindsOf<RateLimitOptions> = {
  rate: kind.string,
  quota: kind.string,
  concurrent: kind.atLeastOne,
  streams: kind.amount,
  time: kind.amount,
  arguments: kind.amount,
}

/** @throws Error with one sentence that names the fix */
/** Milliseconds that handlers may run; `undefined`: no limit. */
export function timeOf({ time = defaults.time }: RateLimitOptions): number | undefined {
  return time < Number.POSITIVE_INFINITY ? time : undefined
}

export function limiter(options: RateLimitOptions, bindings: () => Readonly<Record<string, unknown>>): Limiter {
  checkOptions('rateLimit()', options, kinds)
  const { streams = defaults.streams, time = defaults.time, arguments: longest = Number.POSITIVE_INFINITY } = options
  const common = readLimit({ concurrent: defaults.concurrent, ...options }, '', 'rateLimit()')
  const read = new WeakMap<RateLimit, Read>()
  const slots = new Slots()
  const leaseMs = time + leaseMarginMs
  const releases = new WeakMap<IncomingRequest, () => void>()

  return {
    validate(server) {
      readOwn(server.declarations)
    },

    ...(time < Number.POSITIVE_INFINITY && { handlerTimeMs: time }),

    callerOf,

    async enter(attempt, { server, state }) {
      const { caller, isResumed } = attempt
      const length = longest < Number.POSITIVE_INFINITY ? argumentsLength(attempt) : 0
      if (length > longest) {
        throw new McpError('content_too_large', `The arguments of a call have at most ${longest} characters`)
      }
      const limits = limitsOf(server.declarations, attempt)
      const { release } = await slotsOf(attempt, limits, server.declarations)
      if (attempt.endsWithSignal) attempt.signal().addEventListener('abort', release, { once: true })
      try {
        const error = isResumed ? undefined : await exhausted(limits, caller, { server, state }, attempt.post)
        if (error) throw error
        return release
      } catch (thrown) {
        release()
        throw thrown
      }
    },

    async check(incoming, serverInfo) {
      const caller = callerOf(incoming)
      const { request, messages = [] } = incoming
      const isHeld = isStanding(incoming)
      const isHandshake = messages.some((message) => isRequest(message) && message.method === 'initialize')
      if (!isHeld && !isHandshake) return undefined
      const requested: Slot[] = isHeld ? [{ key: `${caller} streams`, most: streams }] : []
      const entered = slots.take(requested, Number.POSITIVE_INFINITY)
      if ('full' in entered) return crowded('Too many streams are open', streams, 'streams')
      const { release } = entered
      releases.set(incoming, release)
      // The runtime may end a request whose client has gone without a word.
      if (isHeld) request.signal.addEventListener('abort', release, { once: true })
      // A GET is no call. It opens a stream for calls that were counted, or for none.
      const counted = request.method === 'GET' ? { ...common, quota: undefined } : common
      const error = await exhausted([counted], caller, serverInfo, incoming)
      if (error) release()
      return error
    },

    // Written out, so that bundlers leave nothing of it to a deployment.
    ...(globalThis.process?.env?.NODE_ENV === 'development' && {
      needsState: (declarations: Declarations) => [
        ...counters(common, 'rateLimit()'),
        ...limited(declarations).flatMap(({ owner, what, limit }) =>
          counters(readLimit(limit, what, owner), `"${what}"`),
        ),
      ],
    }),

    track(incoming, response) {
      const release = releases.get(incoming)
      if (!release) return response
      const { body } = response
      if (!body || !response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
        release()
        return response
      }
      return new Response(untilEnd(body, release), response)
    },
  }

  /** Names the limits that the class of states counts. */
  function counters({ quota, rate }: Read, owner: string): string[] {
    const binding = rate && bindingOf(rate)
    const names = quota ? [`the quota "${quota.text}" of ${owner}`] : []
    if (rate && binding && !bindings()[binding]) {
      names.push(`the rate "${rate.text}" of ${owner} (which has no binding ${binding})`)
    }
    return names
  }

  /** @throws Error with one sentence that names the fix */
  function readOwn(declarations: Declarations): void {
    for (const { owner, what, limit } of limited(declarations)) {
      if (!read.has(limit)) read.set(limit, readLimit(limit, what, owner))
    }
  }

  /** The limits of the server, and those of what a call is about. */
  function limitsOf(
    declarations: Declarations,
    { method, params = {} }: Pick<CallAttempt, 'method'> & Partial<CallAttempt>,
  ) {
    const limit = entryOf(declarations, method, params)?.rateLimit
    // What is declared after serve() was called is read when it is first used.
    if (limit && !read.has(limit)) readOwn(declarations)
    const own = limit && read.get(limit)
    return own ? [common, own] : [common]
  }

  async function slotsOf(attempt: CallAttempt, limits: readonly Read[], declarations: Declarations) {
    const { caller } = attempt
    const bounded = limits.filter(({ concurrent }) => concurrent < Number.POSITIVE_INFINITY)
    if (attempt.isResumed) {
      const requested = bounded.map(({ what, concurrent }) => ({ key: `${caller} ${what}`, most: concurrent }))
      return slots.takeWhenFree(requested, leaseMs, attempt.signal())
    }
    const parked = bounded.length > 0 ? attempt.parked().flatMap((other) => limitsOf(declarations, other)) : []
    const entered = slots.take(
      bounded.map((limit) => ({
        key: `${caller} ${limit.what}`,
        most: limit.concurrent,
        parked: parked.filter((other) => other === limit).length,
      })),
      leaseMs,
    )
    if (!('full' in entered)) return entered
    const { what, concurrent } = bounded.find((limit) => entered.full.key === `${caller} ${limit.what}`) ?? common
    throw crowded(
      what === '' ? 'Too many calls are running' : `Too many calls of ${what} are running`,
      concurrent,
      'concurrent',
    )
  }

  /** Counts a call under all limits or, as far as the counters are our own, under none. */
  async function exhausted(
    limits: readonly Read[],
    caller: string,
    serverInfo: Pick<ServerInfo, 'server' | 'state'>,
    post: object,
  ): Promise<McpError | undefined> {
    const counted: Counted[] = []
    const reasons: LimitReason[] = []
    for (const { what, rate, quota } of limits) {
      if (quota) count(what, quota, 'quota')
      if (!rate) continue
      // Wrangler makes it from the configuration.
      const binding = bindings()[bindingOf(rate)] as RateLimiting | undefined
      // Without the platform's the exact counter does it, which costs a request to an object.
      if (!binding) count(what, rate, 'rate')
      else if (
        !(await binding.limit({ key: `${serverInfo.server.declarations.options.name} ${caller} ${what}` })).success
      )
        return spent(what, rate, rate.seconds, 'rate')
    }
    const full = counted.length > 0 ? await take(serverInfo, caller, counted, post) : undefined
    if (!full) return undefined
    // `full` names one of them.
    const { name, most: times, seconds } = counted[full.index] as Counted
    const reason = reasons[full.index] as LimitReason
    return spent(name.slice(0, name.lastIndexOf(' ')), { text: '', times, seconds }, full.wait, reason)

    function count(what: string, { text, times, seconds }: Rate, reason: LimitReason): void {
      counted.push({ name: `${what} ${text}`, most: times, seconds })
      reasons.push(reason)
    }
  }
}

/** The same stream. What ends it, from either side, is passed on at once. */
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

const argumentsLength = ({ params }: CallAttempt): number => JSON.stringify(params.arguments ?? '').length

/** Does it hold a stream open, rather than run something? */
const isStanding = ({ request, messages = [] }: IncomingRequest): boolean =>
  request.method === 'GET' ||
  messages.some((message) => isRequest(message) && message.method === 'subscriptions/listen')

const crowded = (problem: string, limit: number, reason: LimitReason): McpError =>
  tooMany(`${problem}: at most ${limit} at a time. Wait for one to end, then try again`, 1, reason)

function readLimit(
  { rate, quota, concurrent = Number.POSITIVE_INFINITY }: RateLimit,
  what: string,
  owner: string,
): Read {
  return {
    what,
    rate: rate === undefined ? undefined : readRate(rate, owner),
    quota: quota === undefined ? undefined : readQuota(quota, owner),
    concurrent,
  }
}

/** What was declared with a limit of its own. */
function limited({ tools, prompts, resources, templates }: Declarations) {
  const kinds = [
    ...[...tools].map(([name, { rateLimit }]) => ({ owner: `The tool "${name}"`, what: name, limit: rateLimit })),
    ...[...prompts].map(([name, { rateLimit }]) => ({
      owner: `The prompt "${name}"`,
      what: `prompt ${name}`,
      limit: rateLimit,
    })),
    ...[...resources, ...templates].map(([uri, { rateLimit }]) => ({
      owner: `The resource "${uri}"`,
      what: uri,
      limit: rateLimit,
    })),
  ]
  return kinds.flatMap(({ limit, ...rest }) => (limit ? [{ ...rest, limit }] : []))
}

const spent = (what: string, rate: Rate, wait: number, reason: LimitReason): McpError =>
  tooMany(
    `Too many ${what === '' ? 'requests' : `calls of ${what}`}: ${rateText(rate)}. ` +
      `Wait ${wait} ${wait === 1 ? 'second' : 'seconds'}, then try again`,
    wait,
    reason,
  )

/** @param wait seconds */
const tooMany = (message: string, wait: number, reason: LimitReason): McpError => tooManyRequests(message, wait, reason)
