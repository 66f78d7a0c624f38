/** The global names of a Worker that the simulation replaces: clocks, timers, random numbers, sockets and the network. */
import { countedStreams } from './buffers.ts'
import { type Context, currentContext } from './context.ts'
import type { ScheduledEvent } from './event-loop.ts'
import type { Network } from './network.ts'
import type { Invoke } from './rpc.ts'
import { SimulatedSocket } from './sockets.ts'
import { type NativeQueue, webCrypto } from './web-crypto.ts'

export type GlobalsHost = Network & {
  readonly natives: NativeQueue
  /** Receives what the Worker logs. */
  log(line: string): void
  /** Answers `fetch` of handlers: other servers. */
  readonly outside: (request: Request) => Promise<Response>
}

/** The names that `globalsOf` returns, in the order in which a bundle takes them. */
export const globalNames = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'AbortSignal',
  'Date',
  'Math',
  'crypto',
  'WebSocket',
  'WebSocketPair',
  'Response',
  'fetch',
  'scheduler',
  'console',
  'performance',
  'navigator',
  'caches',
  'Cloudflare',
  'IdentityTransformStream',
  'ReadableStream',
] as const

export type Globals = Readonly<Record<(typeof globalNames)[number], unknown>>

class Timer {
  #event: ScheduledEvent | undefined
  readonly #context: Context

  constructor({ loop }: Network, delayMs: number, work: () => void) {
    const context = currentContext()
    this.#context = context
    context.pending += 1
    const run = () =>
      context.enter(() => {
        if (!this.#end()) return
        work()
      })
    this.#event = loop.after(Math.min(delayMs, 2 ** 31 - 1), `timer ${context.label}`, run, context)
  }

  /** Returns false for a timer that has ended. */
  #end(): boolean {
    if (!this.#event) return false
    this.#event.isCancelled = true
    this.#event = undefined
    this.#context.pending -= 1
    return true
  }

  clear(): void {
    this.#end()
  }
}

export function globalsOf(host: GlobalsHost): Globals {
  const { loop, random } = host
  const now = () => Math.floor(loop.now)

  class VirtualDate extends Date {
    constructor(...args: []) {
      if (args.length === 0) super(now())
      else super(...args)
    }
    static override now(): number {
      return now()
    }
  }

  const setTimeout = (work: Invoke, delayMs = 0, ...args: unknown[]) =>
    new Timer(host, Number(delayMs) || 0, () => void work(...args))
  const clearTimeout = (timer?: { clear?(): void } | null) => timer?.clear?.()
  const setInterval = (work: Invoke, delayMs = 0) => {
    let timer: Timer
    const schedule = () => {
      timer = setTimeout(() => {
        schedule()
        work()
      }, delayMs)
    }
    schedule()
    return { clear: () => timer.clear() }
  }
  const textOf = (value: unknown) => (value instanceof Error ? String(value.stack) : String(value))
  const log = (...values: unknown[]) => host.log(values.map(textOf).join(' '))
  class WebSocketPair {
    readonly 0: SimulatedSocket
    readonly 1: SimulatedSocket
    constructor() {
      const [one, other] = SimulatedSocket.pair(host)
      this[0] = one
      this[1] = other
    }
  }
  return {
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval: clearTimeout,
    AbortSignal: abortSignals(host),
    Date: VirtualDate,
    Math: Object.defineProperties(Object.create(Math), { random: { value: () => random.next() } }),
    crypto: webCrypto(random, host.natives),
    WebSocket: SimulatedSocket,
    WebSocketPair,
    Response: PlatformResponse,
    fetch: (...args: FetchArguments) => {
      const request = toRequest(args)
      // Node.js forgets to abort a request that nothing refers to any more.
      return fetchOutside(host, request, args[1]?.signal ?? request.signal)
    },
    scheduler: { wait: (delayMs: number) => new Promise<void>((resolve) => setTimeout(() => resolve(), delayMs)) },
    console: { ...console, error: log, warn: log, log, info: log, debug: log },
    performance: { now: () => loop.now - loop.start },
    navigator: { userAgent: 'Cloudflare-Workers' },
    caches: { default: { match: async () => undefined, put: async () => {}, delete: async () => false } },
    Cloudflare: { compatibilityFlags: { global_fetch_strictly_public: true } },
    ...countedStreams(host.buffers),
  }
}

/** Node.js measures `timeout` with its own clock, and keeps the result of `any` until it is aborted, with all that listens to it. */
function abortSignals({ loop }: Network): typeof AbortSignal {
  const timeout = (delayMs: number) => {
    const context = currentContext()
    const controller = new AbortController()
    const abort = () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
    loop.after(delayMs, `timeout ${context.label}`, () => context.enter(abort), context)
    return controller.signal
  }
  const any = (signals: Iterable<AbortSignal>) => {
    const controller = new AbortController()
    for (const signal of signals) {
      const abort = () => controller.abort(signal.reason)
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort, { once: true })
    }
    return controller.signal
  }
  const replaced = { timeout, any }
  return new Proxy(AbortSignal, {
    get: (target, name) => Reflect.get(Object.hasOwn(replaced, name) ? replaced : target, name),
  })
}

export type FetchArguments = [input: string | URL | Request, init?: RequestInit]

export const toRequest = ([input, init]: FetchArguments): Request =>
  input instanceof Request && !init ? input : new Request(input, init)

function fetchOutside(host: GlobalsHost, request: Request, signal: AbortSignal): Promise<Response> {
  const context = currentContext()
  const { loop } = host
  return context.wait((resolve, reject) => {
    let isOver = false
    const end = (settle: () => void) => {
      if (!isOver) settle()
      isOver = true
    }
    signal.addEventListener('abort', () => end(() => reject(signal.reason)), { once: true })
    const arrive = () => {
      const answered = (act: () => void) => loop.after(host.latency(), `fetched > ${context.label}`, act, context)
      followed(host, request).then(
        (response) => answered(() => end(() => resolve(response))),
        (problem) => answered(() => end(() => reject(problem))),
      )
    }
    context.send(() => void loop.after(host.latency(), `fetch < ${context.label}`, arrive))
  })
}

/** Follows a redirect, unless the request says otherwise. */
async function followed({ outside }: GlobalsHost, request: Request): Promise<Response> {
  const copy = request.redirect === 'follow' ? request.clone() : undefined
  const response = await outside(request)
  const location = response.headers.get('Location')
  if (!copy || location === null || response.status < 300 || response.status > 399) return response
  const target = new URL(location, request.url)
  // 307 and 308 keep method and body.
  return outside(response.status < 307 ? new Request(target, { signal: request.signal }) : new Request(target, copy))
}

/** A response of a Durable Object may have a WebSocket. */
class PlatformResponse extends Response {
  readonly webSocket: SimulatedSocket | null

  constructor(body?: BodyInit | null, init: ResponseInit & { webSocket?: SimulatedSocket } = {}) {
    const isUpgrade = init.status === 101
    super(body, isUpgrade ? { ...init, status: 200 } : init)
    if (isUpgrade) Object.defineProperty(this, 'status', { value: 101 })
    this.webSocket = init.webSocket ?? null
  }

  static override json(value: unknown, init: ResponseInit = {}): Response {
    const { headers, ...rest } = init
    const all = new Headers(headers)
    if (!all.has('Content-Type')) all.set('Content-Type', 'application/json')
    return new PlatformResponse(JSON.stringify(value), { ...rest, headers: all })
  }
}
