/** Requests and operations of the objects of one class. Each number is billed, or counts what wakes an object. */
export type Tally = {
  /** RPC calls from outside. */
  calls: number
  /** Fetches from outside: each opens a relay. */
  feeds: number
  /** Constructor runs. */
  woken: number
  /** Rows that were read, and keys that were looked up. */
  rowsRead: number
  /** Rows and index entries that were written, keys that were put or deleted, alarms that were set. */
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
  /** Sockets whose closing was handled: not billed, but tests wait for it. */
  closed: number
  /** Names of the sessions whose objects were started. */
  names: string[]
}

/** What an object stores, without the tables of the runtime. */
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
