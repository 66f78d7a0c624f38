/**
 * The entries that were enabled or disabled at run time. First object only. The change of a list is stored until it is published
 * everywhere.
 */
import type { ServerEvent } from '../../worker/protocol/changes.ts'
import type { Schema } from '../shared/schema.ts'

/** Lists whose change has not been published everywhere, by topic. `version` distinguishes a change from a later one of the same topic. */
type Unannounced = Readonly<Record<string, { change: ServerEvent; topics: readonly string[]; version: number }>>

export class EnabledOverrides {
  readonly #kv: SyncKvStorage
  readonly #schema: Schema
  readonly #publish: (change: ServerEvent, topics: readonly string[]) => Promise<void>

  constructor(
    kv: SyncKvStorage,
    schema: Schema,
    publish: (change: ServerEvent, topics: readonly string[]) => Promise<void>,
  ) {
    this.#kv = kv
    this.#schema = schema
    this.#publish = publish
  }

  get values(): Readonly<Record<string, boolean>> {
    return this.#kv.get<Record<string, boolean>>('enabledOverrides') ?? {}
  }

  /** Stores whether an entry is enabled. */
  set(key: string, isEnabled: boolean): void {
    this.#schema.store()
    this.#kv.put('enabledOverrides', { ...this.values, [key]: isEnabled })
  }

  /** Stores the change of a list until `announce` has published it. */
  addUnannounced(change: ServerEvent, topics: readonly string[]): void {
    this.#schema.store()
    const unannounced = this.#unannounced
    const [topic = ''] = topics
    const version = (unannounced[topic]?.version ?? 0) + 1
    this.#unannounced = { ...unannounced, [topic]: { change, topics, version } }
  }

  get hasUnannounced(): boolean {
    return Object.keys(this.#unannounced).length > 0
  }

  /** Publishes the changes of lists that have not been published everywhere. @throws the error of a publication */
  async announce(): Promise<void> {
    for (const [topic, { change, topics, version }] of Object.entries(this.#unannounced)) {
      await this.#publish(change, topics)
      // The list may have changed again meanwhile.
      const { [topic]: announced, ...rest } = this.#unannounced
      if (announced?.version === version) this.#unannounced = rest
    }
  }

  get #unannounced(): Unannounced {
    return this.#kv.get<Unannounced>('unannounced') ?? {}
  }

  set #unannounced(unannounced: Unannounced) {
    if (Object.keys(unannounced).length > 0) this.#kv.put('unannounced', unannounced)
    else this.#kv.delete('unannounced')
  }
}
