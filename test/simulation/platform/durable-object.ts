/**
 * One Durable Object: its storage, its sockets and its alarm, and its instance, if it has one.
 *
 * @see https://developers.cloudflare.com/durable-objects/concepts/durable-object-lifecycle/
 */
import { Context, type ContextHost } from './context.ts'
import type { ScheduledEvent } from './event-loop.ts'
import { connectionLost, type Network } from './network.ts'
import type { Invoke, Reach } from './rpc.ts'
import type { SimulatedSocket, SocketHost } from './sockets.ts'
import { ObjectStorage, type SqlValue } from './storage.ts'

type Instance = Readonly<Record<string, Invoke | undefined>>
type ObjectClass = new (ctx: object, env: object) => Instance

export type ObjectPlatform = Network &
  ContextHost & {
    readonly env: object
    readonly exports: object
    /** Milliseconds until what a turn wrote is durable. */
    commitMs(): number
    /** Returns the class of the deployed Worker. */
    classOf(name: string): ObjectClass
    /** Keeps a context until work has settled. */
    waitUntil(work: Promise<unknown>, context: Context): void
  }

/** How often the platform runs an alarm handler again that throws: after two seconds, then twice as long as before. */
const maxAlarmRetries = 6
const firstRetryMs = 2000

export class DurableObjectHost implements SocketHost {
  readonly storage = new ObjectStorage()
  readonly sockets = new Set<SimulatedSocket>()
  readonly className: string
  readonly name: string
  /** Names the object in the trace. */
  readonly label: string
  /** How often an instance was started. */
  starts = 0
  readonly #platform: ObjectPlatform
  #running: { readonly instance: Instance; readonly context: Context } | undefined
  /** The scheduled alarm, and for which time. */
  #alarm: { readonly event: ScheduledEvent; readonly time: number } | undefined
  #isAlarmRunning = false
  #alarmRetries = 0
  /** The time of an alarm that its own handler has set again: the platform does not deliver it. */
  #lostAlarm: number | undefined
  /** Calls of `sync()` that wait for the next commit. */
  #onCommit: (() => void)[] = []

  constructor(platform: ObjectPlatform, className: string, name: string, index: number) {
    this.#platform = platform
    this.className = className
    this.name = name
    this.label = `${className}#${index}`
    this.storage.onWrite = () => this.#scheduleCommit()
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** Whether the platform may evict the object, or let it hibernate. */
  get isIdle(): boolean {
    const { context } = this.#running ?? {}
    if (this.#isAlarmRunning || this.storage.isDirty) return false
    return context !== undefined && context.pending === 0 && !context.isGated
  }

  /** Whether an alarm is due, and could be delivered twice. */
  get isAlarmDue(): boolean {
    const { durableAlarm, isDirty } = this.storage
    return durableAlarm !== null && durableAlarm <= this.#platform.loop.now && !isDirty
  }

  /** Calls a method. A call that waits at the input gate is lost with the instance. */
  reach(method: string): Reach {
    return (run, fail) => {
      const { instance, context } = this.#tryStart(fail) ?? {}
      if (!instance || !context) return
      const onLost = () => fail(connectionLost())
      context.onLost.add(onLost)
      context.enter(() => {
        context.onLost.delete(onLost)
        run(context, (...args) => {
          const target = instance[method]
          if (typeof target === 'function') return target.apply(instance, args)
          throw new TypeError(`The RPC receiver does not implement the method "${method}".`)
        })
      })
    }
  }

  onSocketMessage(socket: SimulatedSocket, data: string): void {
    this.#deliver(async (instance) => instance.webSocketMessage?.(socket, data))
  }

  onSocketClose(socket: SimulatedSocket, code: number, reason: string, wasClean: boolean): void {
    const onSettled = () => void this.sockets.delete(socket)
    this.#deliver(async (instance) => instance.webSocketClose?.(socket, code, reason, wasClean), onSettled)
  }

  /** Runs the alarm handler. */
  fireAlarm(): void {
    this.#alarm = undefined
    const { storage } = this
    const time = storage.durableAlarm
    if (time === null) return
    if (storage.alarm === time) storage.alarm = null
    this.#isAlarmRunning = true
    this.#deliver(async (instance, context) => {
      const retryCount = this.#alarmRetries
      let problem: unknown
      try {
        await instance.alarm?.({ retryCount, isRetry: retryCount > 0 })
      } catch (thrown) {
        problem = thrown
        this.#platform.uncaught(thrown, `alarm of ${this.label}`)
      }
      if (!context.isLost) this.#finishAlarm(time, problem !== undefined)
    })
  }

  #finishAlarm(time: number, hasFailed: boolean): void {
    const { storage } = this
    this.#isAlarmRunning = false
    // An alarm that is repeated before its time is set for that time again.
    if (!hasFailed && storage.alarm === time && time <= this.#platform.loop.now) this.#lostAlarm = time
    if (hasFailed && storage.alarm === null && this.#alarmRetries < maxAlarmRetries) {
      this.#alarmRetries += 1
      storage.alarm = storage.durableAlarm
      this.#arm(firstRetryMs * 2 ** (this.#alarmRetries - 1))
      return
    }
    this.#alarmRetries = 0
    // The alarm is deleted once its handler has returned, unless the handler has set another one.
    if (storage.alarm === null) storage.setAlarm(null)
    else this.#arm()
  }

  /** Loses the memory, what is not durable, and the sockets. */
  crash(how: 'crash' | 'restart' | 'abort' = 'crash'): void {
    const { loop, random } = this.#platform
    loop.trail(`${how} ${this.label}`)
    const context = this.#running?.context
    this.#running = undefined
    this.storage.rollback()
    this.#onCommit = []
    for (const socket of this.sockets) socket.abandon()
    this.sockets.clear()
    context?.lose()
    const delayMs = this.#isAlarmRunning ? random.between(0, 2000) : 0
    this.#isAlarmRunning = false
    this.#arm(delayMs)
  }

  /** Receives nothing for a time. */
  stall(ms: number): void {
    const context = this.#running?.context
    if (!context) return
    context.closeGate()
    context.pending += 1
    this.#platform.loop.after(
      ms,
      `go on ${context.label}`,
      () => {
        context.pending -= 1
        context.openGate()
      },
      context,
    )
  }

  /** Loses the memory of an idle object, whose sockets stay open. */
  evict(): void {
    this.#platform.loop.trail(`evict ${this.label}`)
    const context = this.#running?.context
    this.#running = undefined
    context?.lose()
  }

  #tryStart(onError: (problem: unknown) => void): { instance: Instance; context: Context } | undefined {
    try {
      return this.#start()
    } catch (problem) {
      onError(problem)
      return undefined
    }
  }

  #start(): { instance: Instance; context: Context } {
    if (this.#running) return this.#running
    this.starts += 1
    const context = new Context(this.#platform, `${this.label}.${this.starts}`, this.storage)
    this.#platform.loop.trail(`start ${context.label}`)
    const Class = this.#platform.classOf(this.className)
    this.#running = { instance: {}, context }
    try {
      const instance = context.run(() => new Class(this.#contextOf(context), this.#platform.env))
      this.#running = { instance, context }
      return this.#running
    } catch (problem) {
      this.#running = undefined
      context.lose()
      throw problem
    }
  }

  /** Delivers an event of the platform, for which the instance is started. */
  #deliver(work: (instance: Instance, context: Context) => Promise<unknown>, onSettled = () => {}): void {
    const { instance, context } = this.#tryStart((problem) => this.#platform.uncaught(problem, this.label)) ?? {}
    if (!instance || !context) return
    context.enter(() => {
      context.pending += 1
      work(instance, context)
        .catch((problem) => this.#platform.uncaught(problem, this.label))
        .finally(() => {
          context.pending -= 1
          onSettled()
        })
    })
  }

  #scheduleCommit(): void {
    const context = this.#running?.context
    this.#platform.loop.after(
      this.#platform.commitMs(),
      `commit ${this.label}`,
      () => {
        this.storage.commit(this.#isAlarmRunning)
        this.#arm()
        context?.flush()
        for (const onCommit of this.#onCommit.splice(0)) onCommit()
      },
      context,
    )
  }

  /** Schedules the alarm of the platform for the time that is durable. */
  #arm(delayMs = 0): void {
    const { durableAlarm } = this.storage
    if (this.#isAlarmRunning || (this.#alarm && this.#alarm.time === durableAlarm)) return
    if (this.#alarm) this.#alarm.event.isCancelled = true
    this.#alarm = undefined
    if (durableAlarm === null || durableAlarm === this.#lostAlarm) return
    const { loop, random } = this.#platform
    const latency = random.chance(0.2) ? random.between(0, 1) : this.#platform.latency()
    const at = Math.max(durableAlarm, loop.now + delayMs) + latency
    this.#alarm = { event: loop.at(at, `alarm ${this.label}`, () => this.fireAlarm()), time: durableAlarm }
  }

  /** Waits for an operation of the storage that closes the input gate. */
  #gated(context: Context, start: (done: () => void) => void): Promise<void> {
    context.closeGate()
    context.pending += 1
    return new Promise((resolve) => {
      start(() => {
        context.pending -= 1
        context.run(resolve)
        context.openGate()
      })
    })
  }

  /** Returns the `ctx` of an instance. */
  #contextOf(context: Context): object {
    const platform = this.#platform
    const { name, label } = this
    return {
      id: { name, toString: () => label, equals: (other: unknown) => String(other) === label },
      props: {},
      exports: platform.exports,
      storage: this.#storageOf(context),
      waitUntil: (work: Promise<unknown>) => platform.waitUntil(work, context),
      blockConcurrencyWhile: async (work: () => Promise<unknown>) => {
        context.closeGate()
        try {
          return await work()
        } finally {
          context.openGate()
        }
      },
      acceptWebSocket: (socket: SimulatedSocket, tags: readonly string[] = []) => socket.hibernate(this, tags),
      getWebSockets: (tag?: string) => [...this.sockets].filter(({ tags }) => tag === undefined || tags.includes(tag)),
      getTags: ({ tags }: SimulatedSocket) => tags,
      setWebSocketAutoResponse: () => {},
      // The platform stops the code at once. Here it goes on to the end of its turn, and reaches nothing.
      abort: () => {
        if (!context.isLost) this.crash('abort')
      },
    }
  }

  /** Returns the `ctx.storage` of an instance. A lost instance cannot use it. */
  #storageOf(context: Context): object {
    const { storage } = this
    const { loop } = this.#platform
    const alive = <A extends unknown[], T>(work: (...args: A) => T) => {
      return (...args: A): T => {
        if (context.isLost) throw new Error('This instance of the object was lost')
        return work(...args)
      }
    }
    return {
      sql: {
        exec: alive((text: string, ...bindings: SqlValue[]) => storage.exec(text, ...bindings)),
        get databaseSize() {
          return storage.databaseSize
        },
      },
      kv: {
        get: alive((key: string) => storage.get(key)),
        put: alive((key: string, value: unknown) => storage.put(key, value)),
        delete: alive((key: string) => storage.delete(key)),
        list: alive((options?: object) => storage.list(options)),
      },
      getAlarm: alive(async () => storage.alarm),
      // A time in the past is now. Fractions of milliseconds are cut.
      setAlarm: alive(async (at: number | Date) =>
        storage.setAlarm(Math.floor(Math.max(Number(at), this.#platform.loop.now))),
      ),
      deleteAlarm: alive(async () => storage.setAlarm(null)),
      transactionSync: alive((work: () => unknown) => storage.transaction(work)),
      deleteAll: alive(() => {
        storage.deleteAll()
        return this.#gated(context, (done) => void loop.after(0, `deleted ${context.label}`, done, context))
      }),
      sync: alive(() =>
        storage.isDirty ? this.#gated(context, (done) => void this.#onCommit.push(done)) : Promise.resolve(),
      ),
    }
  }
}
