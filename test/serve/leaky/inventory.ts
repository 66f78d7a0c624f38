import type { Limits } from '../../../worker/http/limits.ts'

/** Everything that an object can leave behind. */
export type Inventory = {
  /** Another one after the object was evicted. */
  instance: string
  sockets: number
  /** How many rows each table has. */
  tables: Record<string, number>
  keys: string[]
  /** Milliseconds: when it is due. */
  alarm: number | null
}

/** Those options of `serve` and `sessions` that matter here. */
export type LeakyOptions = {
  limits?: Partial<Limits>
  log?: { maxEvents?: number; maxCharacters?: number }
}
