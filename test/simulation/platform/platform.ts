/**
 * Cloudflare Workers and Durable Objects, simulated: one Worker, of which several versions can be deployed at a time, its objects, and the
 * network between them and their clients.
 */
import { type ClientRequest, ConnectionLost, type ReceivedResponse } from '../client-world.ts'
import { Buffers } from './buffers.ts'
import type { Load, WorkerExports } from './bundle.ts'
import { Context, type ContextHost, currentContext } from './context.ts'
import { DurableObjectHost, type ObjectPlatform } from './durable-object.ts'
import { EventLoop } from './event-loop.ts'
import { type FetchArguments, type Globals, type GlobalsHost, globalsOf, toRequest } from './globals.ts'
import { Random } from './random.ts'
import { SimulatedBody } from './received-body.ts'
import { callRemote } from './rpc.ts'
import { NativeQueue } from './web-crypto.ts'

export type PlatformOptions = {
  readonly seed: number
  /** Whether the lines of the trace are kept. Default: only their digest. */
  readonly keepsTrace?: boolean
  /** A defect of the platform, which the oracle must find: messages leave before what was written is durable. */
  readonly isUngated?: boolean
  readonly env?: Readonly<Record<string, unknown>>
}

/** Milliseconds that a message takes; one of twenty takes up to twenty times as long. */
const latencyMs = [0.5, 30] as const
const commitMs = [0.2, 15] as const
/** Milliseconds for which work goes on after a response, or after its client has gone. */
const afterResponseMs = 30_000

class SimulatedDurableObject {
  readonly ctx: object
  readonly env: object
  constructor(ctx: object, env: object) {
    this.ctx = ctx
    this.env = env
  }
}
class SimulatedEntrypoint extends SimulatedDurableObject {}

export class Platform implements GlobalsHost, ObjectPlatform, ContextHost {
  readonly random: Random
  readonly loop: EventLoop
  readonly natives = new NativeQueue()
  readonly calls = new Set<() => void>()
  readonly buffers = new Buffers()
  readonly objects = new Map<string, DurableObjectHost>()
  /** Open connections of clients: a fault may cut them, or stop their clients from reading. */
  readonly connections = new Set<SimulatedBody>()
  /** What the Worker has logged, and errors that nothing handled. */
  readonly logs: string[] = []
  readonly isUngated: boolean
  readonly env: Record<string, unknown>
  readonly exports: object
  outside: (request: Request) => Promise<Response> = async () => new Response(null, { status: 404 })
  readonly #versions: readonly Load[]
  readonly #globals: Globals
  readonly #requests = new Set<Context>()
  /** The versions that are deployed: each request and each start of an object takes one of them. */
  #deployed: readonly WorkerExports[] = []
  #deployments = 0
  #requestCount = 0

  /** @param versions of the Worker, the oldest first */
  constructor(versions: readonly Load[], { seed, keepsTrace = false, isUngated = false, env = {} }: PlatformOptions) {
    this.random = new Random(seed)
    this.loop = new EventLoop(this.random, this.natives, keepsTrace)
    this.isUngated = isUngated
    this.env = { ...env }
    this.exports = new Proxy({}, { get: (_, name) => this.#exportOf(String(name)) })
    this.#versions = versions
    this.#globals = globalsOf(this)
    this.deploy()
  }

  latency(): number {
    const [least, most] = latencyMs
    return this.random.between(least, this.random.chance(0.05) ? most * 20 : most)
  }

  commitMs(): number {
    return this.random.between(...commitMs)
  }

  log(line: string): void {
    this.logs.push(line)
  }

  uncaught(problem: unknown, where: string): void {
    const text = problem instanceof Error ? problem.stack : String(problem)
    this.logs.push(`uncaught in ${where}: ${text}`)
    this.loop.trail(`uncaught ${where} ${problem}`)
  }

  nextTurn(context: Context, work: () => void): void {
    this.loop.after(0, `admit ${context.label}`, work, context)
  }

  /** Deploys one version of the Worker, or all of them side by side: its objects restart. */
  deploy(): void {
    this.#deployments += 1
    const all = this.#versions
    const isSplit = all.length > 1 && this.random.chance(0.5)
    const deployed = isSplit || all.length === 1 ? all : [this.random.pick(all)]
    this.#deployed = deployed.map((load) => this.#evaluate(load))
    this.loop.trail(`deployed ${deployed.map((load) => all.indexOf(load))}`)
    for (const object of this.objects.values()) if (object.isRunning || object.sockets.size > 0) object.crash('restart')
  }

  /** Loses the isolate of the Worker with all its connections, and the objects that run in it. */
  loseIsolate(): void {
    this.loop.trail('lose isolate')
    for (const request of this.#requests) request.lose()
    this.deploy()
  }

  #evaluate(load: Load): WorkerExports {
    const modules = {
      'cloudflare:workers': {
        DurableObject: SimulatedDurableObject,
        WorkerEntrypoint: SimulatedEntrypoint,
        RpcTarget: class RpcTarget {},
        env: this.env,
        exports: this.exports,
        waitUntil: (work: Promise<unknown>) => this.waitUntil(work, currentContext()),
      },
    }
    const context = new Context(this, `deployment ${this.#deployments}`)
    return context.run(() => load(modules, this.#globals))
  }

  /** Returns the exports of a version that is deployed. */
  get #worker(): WorkerExports {
    const [first, ...others] = this.#deployed
    if (!first) throw new Error('No Worker is deployed')
    return others.length > 0 ? this.random.pick(this.#deployed) : first
  }

  waitUntil(work: Promise<unknown>, context: Context): void {
    context.pending += 1
    work
      .catch((problem) => this.uncaught(problem, 'waitUntil'))
      .finally(() => {
        context.pending -= 1
      })
  }

  classOf(name: string) {
    const Class = this.#worker[name]
    if (typeof Class !== 'function') throw new Error(`The Worker exports no class ${name}`)
    return Class as ReturnType<ObjectPlatform['classOf']>
  }

  /** Returns an object, also one that never ran. */
  objectAt(className: string, name: string): DurableObjectHost {
    const key = `${className}/${name}`
    const known = this.objects.get(key)
    if (known) return known
    const object = new DurableObjectHost(this, className, name, this.objects.size + 1)
    this.objects.set(key, object)
    this.loop.trail(`object ${object.label} ${name}`)
    return object
  }

  #exportOf(className: string): unknown {
    const Class = this.#deployed[0]?.[className]
    if (typeof Class !== 'function') return undefined
    if (!(Class.prototype instanceof SimulatedDurableObject)) return Class
    const namespace = {
      getByName: (name: string) => this.#stub(className, name),
      idFromName: (name: string) => ({ name, toString: () => name }),
      get: ({ name }: { name: string }) => this.#stub(className, name),
      jurisdiction: () => namespace,
    }
    return namespace
  }

  #stub(className: string, name: string): object {
    const object = this.objectAt(className, name)
    // Calls of one stub arrive in their order.
    let lastArrival = 0
    const call = (method: string, args: readonly unknown[]) => {
      const label = `${object.label}.${method}`
      const caller = currentContext().label
      return callRemote(this, label, args, object.reach(method), (deliver) => {
        lastArrival = Math.max(lastArrival + 0.001, this.loop.now + this.latency())
        this.loop.at(lastArrival, `call ${label} < ${caller}`, deliver)
      })
    }
    const get = (_: object, method: string | symbol) => {
      if (typeof method !== 'string' || method === 'then') return undefined
      if (method === 'name') return name
      if (method === 'fetch') return (...args: FetchArguments) => call(method, [toRequest(args)])
      return (...args: unknown[]) => call(method, args)
    }
    return new Proxy({}, { get })
  }

  /** Runs the script of a client. What the script throws ends the schedule. */
  runClient(label: string, script: () => Promise<void>): Promise<void> {
    const context = new Context(this, label)
    const running = context.run(script)
    running.catch((problem) => {
      this.loop.failure ??= problem
    })
    return running
  }

  sleep(delayMs: number): Promise<void> {
    const context = currentContext()
    return context.wait((resolve) => void this.loop.after(delayMs, `slept ${context.label}`, () => resolve(), context))
  }

  /**
   * Sends the request of a client, over a network that may be cut.
   *
   * @param leave ends the connection
   * @throws ConnectionLost
   */
  request(url: string, init: ClientRequest, leave?: AbortSignal): Promise<ReceivedResponse> {
    const client = currentContext()
    this.#requestCount += 1
    const label = `request ${this.#requestCount}`
    const context = new Context(this, label)
    const { loop } = this
    const abort = new AbortController()
    const body = new SimulatedBody(this, label, context, client)
    const received = Promise.withResolvers<ReceivedResponse>()
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    const release = () => void loop.after(afterResponseMs, `released ${label}`, () => context.lose())
    body.onCut = (noticedAfterMs) => {
      received.reject(new ConnectionLost())
      const disconnect = () => {
        context.enter(() => {
          abort.abort()
          reader?.cancel().catch(() => {})
        })
        release()
      }
      loop.after(noticedAfterMs, `disconnected ${label}`, disconnect, context)
    }
    leave?.addEventListener('abort', () => body.cut())
    this.connections.add(body)
    body.onEnd = () => void this.connections.delete(body)
    context.onLost.add(() => {
      this.#requests.delete(context)
      if (body.hasEnded) return
      const lose = () => {
        body.end(new ConnectionLost())
        received.reject(new ConnectionLost())
      }
      loop.after(this.latency(), `cut ${label}`, () => client.run(lose), client)
    })
    const respond = async () => {
      const request = new Request(url, { ...init, signal: abort.signal })
      const ctx = {
        waitUntil: (work: Promise<unknown>) => this.waitUntil(work, context),
        passThroughOnException: () => {},
        props: {},
      }
      const response = await this.#fetch(request, ctx)
      const { status, headers } = response
      body.deliver(`head ${status} ${label}`, () => received.resolve({ status, headers, body }))
      reader = response.body?.getReader()
      for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
        await body.write(read.value)
      }
      body.deliver(`end ${label}`, () => {
        body.end()
        release()
      })
    }
    const arrive = () => {
      this.#requests.add(context)
      context.enter(() => {
        respond().catch((problem) => {
          this.uncaught(problem, label)
          context.lose()
        })
      })
    }
    loop.after(this.latency(), `${label} ${init.method} ${init.body ?? ''}`, arrive)
    return received.promise
  }

  #fetch(request: Request, ctx: object): Promise<Response> {
    return this.#worker.default.fetch(request, this.env, ctx)
  }
}
