import { DurableObject, exports } from 'cloudflare:workers'
import { logLevels } from 'edgemcp'
import { server } from './server.ts'

/** The notifications that a simulation sends. */
export type Kind = 'logging' | 'updates'

const paceMs = 5000
/** A simulation that nobody stops ends after this time. */
const longestMs = 10 * 60_000
/** Resources of one simulation. */
const mostUris = 100

/**
 * Sends simulated notifications to one session, or to all subscribers, every five seconds.
 *
 * | key                  | meaning                                                     | lifetime            |
 * |----------------------|-------------------------------------------------------------|---------------------|
 * | `session`            | id of the session; absent in the simulation for all         | the session         |
 * | `logging`, `updates` | when these notifications end, in milliseconds since 1970    | until then          |
 * | `uri:<URI>`          | a resource that the session subscribes to                   | until unsubscribed  |
 */
export class Simulation extends DurableObject {
  readonly #kv = this.ctx.storage.kv

  /** Starts or stops one kind of notifications. Returns whether it runs now. The first notification is sent at once. */
  async toggle(kind: Kind, session: string | undefined): Promise<boolean> {
    if (session) this.#kv.put('session', session)
    if (this.#isRunning(kind)) {
      this.#kv.delete(kind)
      return false
    }
    this.#kv.put(kind, Date.now() + longestMs)
    await this.ctx.storage.setAlarm(Date.now() + paceMs)
    await this.#send(kind)
    return true
  }

  subscribe(uri: string): void {
    const uris = [...this.#kv.list({ prefix: 'uri:' })]
    if (uris.length < mostUris) this.#kv.put(`uri:${uri}`, true)
  }

  unsubscribe(uri: string): void {
    this.#kv.delete(`uri:${uri}`)
  }

  async end(): Promise<void> {
    await this.ctx.storage.deleteAlarm()
    await this.ctx.storage.deleteAll()
  }

  override async alarm(): Promise<void> {
    const kinds = (['logging', 'updates'] as const).filter((kind) => this.#isRunning(kind))
    if (kinds.length === 0) return
    await this.ctx.storage.setAlarm(Date.now() + paceMs)
    await Promise.all(kinds.map((kind) => this.#send(kind)))
  }

  #isRunning(kind: Kind): boolean {
    return (this.#kv.get<number>(kind) ?? 0) > Date.now()
  }

  async #send(kind: Kind): Promise<void> {
    const session = this.#kv.get<string>('session')
    if (kind === 'updates') {
      const uris = [...this.#kv.list({ prefix: 'uri:' })].map(([key]) => key.slice('uri:'.length))
      await Promise.all(uris.map((uri) => server.notify.resourceUpdated(uri, session === undefined ? {} : { session })))
    } else if (session !== undefined) {
      const level = logLevels[Math.floor(Math.random() * logLevels.length)] ?? 'info'
      const name = `${level.charAt(0).toUpperCase()}${level.slice(1)}`
      await server.notify.log(level, `${name}-level message - SessionId ${session}`, { session })
    }
  }
}

/** Returns the simulation of a session, or that for all subscribers. */
export const simulationOf = (session: string | undefined): DurableObjectStub<Simulation> =>
  (exports as unknown as { Simulation: DurableObjectNamespace<Simulation> }).Simulation.getByName(session ?? 'all')
