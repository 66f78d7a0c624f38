/** What a Subscriptions object holds. */
export type Holding = {
  /** Another one after the object was evicted or lost. */
  instance: string
  sockets: number
  /** The objects of sessions that it tells of changes. */
  sessions: string[]
  changes: number
  /** Milliseconds: the age of the oldest change, the newest of all not counted. */
  oldest: number
  /** Milliseconds: when it is due. */
  alarm: number | null
}
