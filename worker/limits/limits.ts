/**
 * How much a caller may ask: how often, how many at a time, how long, how large. What is refused says when to come back, in
 * the header for programs and in words for models.
 *
 * @see https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/
 * @see https://www.rfc-editor.org/rfc/rfc6585#section-4 429
 */
import type { Limiter, Site, Visit } from '../auth/auth.ts'
import { entryOf } from '../engine/scopes.ts'
import { McpError } from '../protocol/errors.ts'
import { isRequest, type Message } from '../protocol/jsonrpc.ts'
import type { Limit } from '../server/caller.ts'
import type { Registry, Server } from '../server/server.ts'
import { callerOf } from './caller.ts'
import { Counts } from './counts.ts'
import { type Counted, take } from './quota.ts'
import { bindingOf, type Rate, rateText, readQuota, readRate } from './rate.ts'
import { limitTime } from './time.ts'

export type LimitsOptions = Limit & {
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

const defaults = { concurrent: 50, streams: 50, time: 5 * 60_000 }

/** @throws Error with one sentence that names the fix */
export function limiter(options: LimitsOptions, bindings: () => Readonly<Record<string, unknown>>): Limiter {
  const { streams = defaults.streams, time = defaults.time, arguments: longest = Number.POSITIVE_INFINITY } = options
  const common = readLimit({ concurrent: defaults.concurrent, ...options }, '', 'limits()')
  const read = new WeakMap<Limit, Read>()
  const running = new Counts()
  const releases = new WeakMap<Visit, () => void>()

  return {
    // Of what is declared later only the common limits hold.
    attach(server) {
      for (const { owner, what, limit } of limited(server.registry)) read.set(limit, readLimit(limit, what, owner))
      if (time < Number.POSITIVE_INFINITY) limitTime(server.registry, time)
    },

    async admit(visit, site) {
      const who = callerOf(visit)
      const messages = visit.messages ?? []
      // Written anew only to be measured, so only where there is a measure.
      const large = longest < Number.POSITIVE_INFINITY && messages.some((message) => argumentsLength(message) > longest)
      if (large) return new McpError('content_too_large', `The arguments of a call have at most ${longest} characters`)
      const limits = [common, ...messages.flatMap((message) => limitOf(site.server, message))]
      const crowded = enter(visit, who, limits)
      if (crowded) return crowded
      const full = await exhausted(limits, who, site)
      if (full) releases.get(visit)?.()
      return full
    },

    watch(visit, response) {
      const release = releases.get(visit)
      if (!release) return response
      const { body } = response
      if (!body || !response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
        release()
        return response
      }
      // What a stream holds is free again when it ends, whoever ends it.
      visit.request.signal.addEventListener('abort', release, { once: true })
      return new Response(untilEnd(body, release), response)
    },
  }

  /** Counts it among those that are running. */
  function enter(visit: Visit, who: string, limits: readonly Read[]): McpError | undefined {
    const slots = isStanding(visit)
      ? [{ key: `${who} streams`, most: streams, what: 'Too many streams are open' }]
      : limits.map(({ what, concurrent }) => ({
          key: `${who} ${what}`,
          most: concurrent,
          what: what === '' ? 'Too many calls are running' : `Too many calls of ${what} are running`,
        }))
    const full = slots.find(({ key, most }) => running.of(key) >= most)
    if (full) return tooMany(`${full.what}: at most ${full.most} at a time. Wait for one to end, then try again`, 1)
    for (const { key } of slots) running.add(key, 1)
    releases.set(visit, () => {
      if (!releases.delete(visit)) return
      for (const { key } of slots) running.add(key, -1)
    })
    return undefined
  }

  async function exhausted(limits: readonly Read[], who: string, site: Site): Promise<McpError | undefined> {
    const counted: Counted[] = []
    for (const { what, rate, quota } of limits) {
      if (quota) counted.push({ name: `${what} ${quota.text}`, most: quota.times, seconds: quota.seconds })
      if (!rate) continue
      const binding = bindings()[bindingOf(rate)] as RateLimiting | undefined
      // Without the platform's the exact counter does it, which costs a request to an object.
      if (!binding) counted.push({ name: `${what} ${rate.text}`, most: rate.times, seconds: rate.seconds })
      else if (!(await binding.limit({ key: `${who} ${what}` })).success) return spent(what, rate, rate.seconds)
    }
    const full = counted.length > 0 ? await take(site, who, counted) : undefined
    if (!full) return undefined
    const { name, most: times, seconds } = counted[full.index] as Counted
    return spent(name.slice(0, name.lastIndexOf(' ')), { text: '', times, seconds }, full.wait)
  }

  function limitOf({ registry }: Server, message: Message): Read[] {
    const limit = isRequest(message) ? entryOf(registry, message.method, message.params ?? {})?.limit : undefined
    const found = limit && read.get(limit)
    return found ? [found] : []
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

const argumentsLength = (message: Message): number =>
  isRequest(message) ? JSON.stringify(message.params?.arguments ?? '').length : 0

/** Does it hold a stream open, rather than run something? */
const isStanding = ({ request, messages = [] }: Visit): boolean =>
  request.method === 'GET' ||
  messages.some((message) => isRequest(message) && message.method === 'subscriptions/listen')

function readLimit({ rate, quota, concurrent = Number.POSITIVE_INFINITY }: Limit, what: string, owner: string): Read {
  if (!(concurrent >= 1)) throw new Error(`${owner} has the concurrent ${concurrent}: use a whole number of at least 1`)
  return {
    what,
    rate: rate === undefined ? undefined : readRate(rate, owner),
    quota: quota === undefined ? undefined : readQuota(quota, owner),
    concurrent,
  }
}

/** What was declared with a limit of its own. */
function limited({ tools, prompts, resources, templates }: Registry) {
  const kinds = [
    ...[...tools].map(([name, { limit }]) => ({ owner: `The tool "${name}"`, what: name, limit })),
    ...[...prompts].map(([name, { limit }]) => ({ owner: `The prompt "${name}"`, what: `prompt ${name}`, limit })),
    ...[...resources, ...templates].map(([uri, { limit }]) => ({ owner: `The resource "${uri}"`, what: uri, limit })),
  ]
  return kinds.flatMap(({ limit, ...rest }) => (limit ? [{ ...rest, limit }] : []))
}

const spent = (what: string, rate: Rate, wait: number): McpError =>
  tooMany(
    `Too many ${what === '' ? 'requests' : `calls of ${what}`}: ${rateText(rate)}. ` +
      `Wait ${wait} ${wait === 1 ? 'second' : 'seconds'}, then try again`,
    wait,
  )

/** @param wait seconds */
const tooMany = (message: string, wait: number): McpError =>
  new McpError('too_many_requests', message, { retryAfter: wait }, { 'Retry-After': String(wait) })
