/** What an object of a session, or of a round, holds. */
export type Left = {
  sockets: number
  calls: number
  questions: number
  /** Streams of a POST that are not over. */
  streams: number
  keys: string[]
  /** Something watches over the removal of the rest. */
  alarm: boolean
  /** Milliseconds: what time it is there. */
  clock: number
}
