/**
 * The tokens that read the streams of a session. The stream of a call requires the scopes of that call. The standing stream (GET) sends only
 * what the scopes of its reader's token allow.
 */

import { BoundedMap } from '../../worker/protocol/bounded-map.ts'
import { holdsScopes } from '../../worker/protocol/principal.ts'
import { type EventLog, readEventId, standingStream } from '../shared/event-log.ts'
import type { Reader, SessionValues } from './session-values.ts'

export class StreamAdmission {
  readonly #log: EventLog
  readonly #values: SessionValues
  /** By relay: scopes of admitted tokens that have not opened their relay. */
  readonly #admitted = new BoundedMap<string, readonly string[]>({ maxEntries: 100 })

  constructor(log: EventLog, values: SessionValues) {
    this.#log = log
    this.#values = values
  }

  /**
   * Admits a token that is about to open a stream: after an event, or the standing stream from the next event. For the standing stream,
   * erases the status of tasks whose scopes the token lacks. Until the stream is open, it receives only what both the new and the previous
   * reader may read.
   *
   * @returns the scopes of the stream, if the token lacks one of them
   */
  admit(scopes: readonly string[], after: string | undefined, relay: string): readonly string[] | undefined {
    this.#log.deleteFinished(Date.now())
    const id = after === undefined ? undefined : readEventId(after)
    const lacks = id ? this.#log.scopesOf(id.stream) : []
    if (!holdsScopes(scopes, lacks)) return lacks
    this.#admitted.set(relay, scopes)
    if (!id || id.stream === standingStream) this.#restrictReader(scopes)
    return undefined
  }

  /** Whether this instance knows the token of a relay. The instance that admitted it may be lost. */
  isAdmitted(relay: string): boolean {
    return this.#admitted.has(relay) || this.#reader?.relay === relay
  }

  #restrictReader(scopes: readonly string[]): void {
    // The scopes of the tasks whose status the stream contains.
    if (!holdsScopes(scopes, this.#values.get('taskScopes') ?? [])) {
      this.#log.eraseScoped('task')
      this.#values.delete('taskScopes')
    }
    const reader = this.#reader
    if (!reader || holdsScopes(scopes, reader.scopes)) return
    this.#values.put('reader', { ...reader, scopes: reader.scopes.filter((scope) => scopes.includes(scope)) })
  }

  /** Stores the scopes of the token that opened the standing stream. A relay that reconnects keeps those it had. */
  setReader(relay: string): void {
    const reader = this.#reader
    const scopes = this.#admitted.get(relay) ?? (reader?.relay === relay ? reader.scopes : [])
    this.#admitted.delete(relay)
    if (scopes.length > 0) this.#values.put('reader', { relay, scopes })
    else if (reader) this.#values.delete('reader')
  }

  get #reader(): Reader | undefined {
    return this.#values.get('reader')
  }
}
