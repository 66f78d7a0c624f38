/** What the objects of one class were asked and did; each number is something that is billed, or wakes an object. */
export type Tally = {
  /** RPC calls from outside. */
  calls: number
  /** Fetches from outside: each asks for a feed. */
  feeds: number
  /** Constructor runs. */
  woken: number
  /** Rows of tables, and keys that were looked up. */
  rowsRead: number
  /** Rows of tables and their indexes, keys that were put or deleted, alarms that were set. */
  rowsWritten: number
  alarmsSet: number
  alarmsRun: number
  /** Incoming messages on sockets. */
  messages: number
}

export type Tallies = {
  /** Requests to the Worker. */
  http: number
  session: Tally
  subscriptions: Tally
  /** Sockets whose closing has been dealt with: free, but waited for. */
  closed: number
  /** Names of the sessions whose objects were woken. */
  names: string[]
}

/** What an object keeps; the runtime's own tables left out. */
export type Left = { tables: string[]; keys: string[]; alarm: boolean }

export const noTally: Readonly<Tally> = {
  calls: 0,
  feeds: 0,
  woken: 0,
  rowsRead: 0,
  rowsWritten: 0,
  alarmsSet: 0,
  alarmsRun: 0,
  messages: 0,
}
