/**
 * Code that runs together and is lost together: an instance of a Durable Object, a request in a Worker, or a client. `AsyncLocalStorage` tells
 * the platform which one sets a timer, calls or sends, so that a crash ends exactly what belongs to it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { ObjectStorage } from './storage.ts'

const running = new AsyncLocalStorage<Context>()

/** @throws Error for code that runs outside of the simulation, such as a timer of Node.js */
export function currentContext(): Context {
  const context = running.getStore()
  if (!context) throw new Error('This code runs outside of the simulation')
  return context
}

export const findContext = (): Context | undefined => running.getStore()

export type ContextHost = {
  /** Whether messages leave before what was written is durable, which is a defect of the platform. */
  readonly isUngated: boolean
  /** Reports an error that nothing handled. */
  uncaught(problem: unknown, where: string): void
  /** Runs work as an event of its own. */
  nextTurn(context: Context, work: () => void): void
}

export class Context {
  readonly label: string
  /** Timers, calls and work that keep an object in memory. */
  pending = 0
  /** Called when the context is lost. */
  readonly onLost = new Set<() => void>()
  #isLost = false
  /** Messages that wait until what was written before is durable: the output gate. */
  #outbox: (() => void)[] = []
  /** Input gates that are closed, and the events that wait for them. */
  #gates = 0
  #waiting: (() => void)[] = []
  readonly #host: ContextHost
  /** That of the object, for an instance of one. */
  readonly #storage: Pick<ObjectStorage, 'isDirty'> | undefined

  constructor(host: ContextHost, label: string, storage?: Pick<ObjectStorage, 'isDirty'>) {
    this.#host = host
    this.label = label
    this.#storage = storage
  }

  get isLost(): boolean {
    return this.#isLost
  }

  get isGated(): boolean {
    return this.#gates > 0
  }

  run<T>(work: () => T): T {
    return running.run(this, work)
  }

  /** Delivers an event, once the input gate is open. A lost context gets none. */
  enter(work: () => void): void {
    if (this.#isLost) return
    if (this.#gates > 0 || this.#waiting.length > 0) this.#waiting.push(work)
    else this.#begin(work)
  }

  #begin(work: () => void): void {
    this.run(() => {
      try {
        work()
      } catch (problem) {
        this.#host.uncaught(problem, this.label)
      }
    })
  }

  closeGate(): void {
    this.#gates += 1
  }

  openGate(): void {
    this.#gates -= 1
    this.#admitNext()
  }

  /** Delivers the events that have waited, each in a turn of its own. */
  #admitNext(): void {
    if (this.#gates > 0 || this.#waiting.length === 0) return
    this.#host.nextTurn(this, () => {
      if (this.#gates > 0) return
      const next = this.#waiting.shift()
      if (next) this.#begin(next)
      this.#admitNext()
    })
  }

  /** Sends a message, once what was written before is durable. */
  send(message: () => void): void {
    if (this.#isLost) return
    if (this.#storage?.isDirty && !this.#host.isUngated) this.#outbox.push(message)
    else message()
  }

  /** Opens the output gate. */
  flush(): void {
    for (const message of this.#outbox.splice(0)) message()
  }

  lose(): void {
    if (this.#isLost) return
    this.#isLost = true
    this.#outbox = []
    for (const onLost of [...this.onLost]) onLost()
    this.onLost.clear()
  }

  /** Returns a promise of the platform, which an event settles. */
  wait<T>(start: (resolve: (value: T) => void, reject: (problem: unknown) => void) => void): Promise<T> {
    this.pending += 1
    return new Promise<T>((resolve, reject) => {
      const settle = (act: () => void) =>
        this.enter(() => {
          this.pending -= 1
          act()
        })
      start(
        (value) => settle(() => resolve(value)),
        (problem) => settle(() => reject(problem)),
      )
    })
  }
}
