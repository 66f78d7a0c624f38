import { BoundedMap } from '../../../protocol/bounded-map.ts'
import type { ServerCapabilities } from '../../../protocol/types.ts'

/** A session of an upstream, which its requests share. */
export type UpstreamSession = {
  /** `null` on an upstream that gives sessions no id. */
  readonly id: string | null
  /** The protocol version that the handshake settled on. */
  readonly version: string
  /** What the upstream offers in it. */
  readonly capabilities: ServerCapabilities
  /** The developer's headers that it was begun with. */
  readonly headers: Readonly<Record<string, string>>
  /** Requests that use it now. */
  uses: number
  usedAtMs: number
  /** No request may begin to use it. */
  isRetired: boolean
}

const maxSessions = 1000
/** A session that no request has used for this long is ended. */
const idleMs = 30 * 60_000

/**
 * The sessions of one upstream, by the caller they belong to. Each is ended once, when it has been retired and no request uses
 * it any more: `end` is called then.
 */
export class UpstreamSessions {
  readonly #sessions = new BoundedMap<string, UpstreamSession>({ maxEntries: maxSessions })
  readonly #end: (session: UpstreamSession) => void

  constructor(end: (session: UpstreamSession) => void) {
    this.#end = end
  }

  /** Returns the session of a caller for one more request, which calls `release` afterwards. */
  acquire(key: string): UpstreamSession | undefined {
    const session = this.#sessions.get(key)
    if (session) session.uses += 1
    return session
  }

  release(session: UpstreamSession): void {
    session.uses -= 1
    session.usedAtMs = Date.now()
    if (session.isRetired && session.uses === 0) this.#end(session)
  }

  /** Adds a session that nobody uses yet. Retires the caller's session before it, the oldest of too many, and idle ones. */
  add(key: string, session: UpstreamSession): void {
    this.retire(key)
    const idleSinceMs = Date.now() - idleMs
    for (const [other, { uses, usedAtMs }] of [...this.#sessions]) {
      const isFull = this.#sessions.size >= this.#sessions.maxEntries
      if (!isFull && usedAtMs > idleSinceMs) break
      if (isFull || uses === 0) this.retire(other)
    }
    this.#sessions.set(key, session)
  }

  /** Ends the session of a caller as soon as no request uses it. */
  retire(key: string): void {
    const session = this.#sessions.peek(key)
    if (!session) return
    this.#sessions.delete(key)
    session.isRetired = true
    if (session.uses === 0) this.#end(session)
  }

  /** Removes a session that the upstream does not know any more: there is nothing to end. */
  delete(key: string, session: UpstreamSession): void {
    if (this.#sessions.peek(key) === session) this.#sessions.delete(key)
  }
}
