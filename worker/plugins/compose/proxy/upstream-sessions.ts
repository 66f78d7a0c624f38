import { BoundedMap } from '../../../protocol/bounded-map.ts'
import type { LogLevel } from '../../../protocol/types.ts'
import type { Offered } from './offered.ts'

/** A session of an upstream, which several requests share. */
export type UpstreamSession = {
  /** `null` if the upstream does not give sessions an id. */
  readonly id: string | null
  /** The negotiated protocol version. */
  readonly version: string
  /** What the upstream offers in this session. */
  readonly offered: Offered
  /** Headers of the option `headers` with which it started. */
  readonly headers: Readonly<Record<string, string>>
  /** Least severe level that a request set for the log messages of the session; `undefined`: the upstream decides. */
  logLevel?: LogLevel
  /** Requests that use it now. */
  uses: number
  usedAtMs: number
  /** Whether no further request may use it. */
  isRetired: boolean
}

/** Returns one text for equal headers. */
export const headersKey = (headers: Readonly<Record<string, string>>): string => JSON.stringify(headers)

const maxSessions = 1000
/** Characters of the keys and headers of all sessions of one upstream. Callers may choose their length. */
const maxCharacters = 2_000_000
/** Milliseconds without a request after which a session is ended. */
const idleMs = 30 * 60_000

const charactersOf = (key: string, { headers }: UpstreamSession): number => key.length + headersKey(headers).length

/** The sessions of one upstream, by caller. Each is ended once, by `end`: when it is retired and no request uses it any more. */
export class UpstreamSessions {
  readonly #sessions = new BoundedMap<string, UpstreamSession>({ maxEntries: maxSessions })
  readonly #end: (session: UpstreamSession) => void
  #characters = 0

  constructor(end: (session: UpstreamSession) => void) {
    this.#end = end
  }

  /**
   * Returns the session of a caller for one more request, which calls `release` afterwards. Retires a session that began with other
   * headers: the upstream may still act for those credentials in it.
   */
  acquire(key: string, headers: UpstreamSession['headers']): UpstreamSession | undefined {
    const session = this.#sessions.get(key)
    if (!session) return undefined
    if (headersKey(session.headers) !== headersKey(headers)) {
      this.retire(key)
      return undefined
    }
    session.uses += 1
    return session
  }

  release(session: UpstreamSession): void {
    session.uses -= 1
    session.usedAtMs = Date.now()
    if (session.isRetired && session.uses === 0) this.#end(session)
  }

  /** Adds a session that no request uses yet. Retires the previous session of the caller, the oldest of too many, and idle ones. */
  add(key: string, session: UpstreamSession): void {
    this.retire(key)
    const characters = charactersOf(key, session)
    const idleSinceMs = Date.now() - idleMs
    for (const [other, { uses, usedAtMs }] of [...this.#sessions]) {
      const isFull = this.#sessions.size >= this.#sessions.maxEntries || this.#characters + characters > maxCharacters
      if (!isFull && usedAtMs > idleSinceMs) break
      if (isFull || uses === 0) this.retire(other)
    }
    this.#sessions.set(key, session)
    this.#characters += characters
  }

  /** Ends the session of a caller as soon as no request uses it. */
  retire(key: string): void {
    const session = this.#sessions.peek(key)
    if (!session) return
    this.delete(key, session)
    session.isRetired = true
    if (session.uses === 0) this.#end(session)
  }

  /** Removes a session that the upstream no longer knows, so that it is not ended. */
  delete(key: string, session: UpstreamSession): void {
    if (this.#sessions.peek(key) !== session) return
    this.#sessions.delete(key)
    this.#characters -= charactersOf(key, session)
  }
}
