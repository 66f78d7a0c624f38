/** What is billed for. */
export type Tally = {
  /** Requests to the Worker. */
  http: number
  /** Requests to objects: calls, streams that are opened, alarms. */
  requests: number
  /** Messages of sockets. */
  messages: number
  rowsRead: number
  rowsWritten: number
  /** Objects that were started: not billed itself. */
  woken: number
}
