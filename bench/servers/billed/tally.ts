/** The billed operations. */
export type Tally = {
  /** Requests to the Worker. */
  http: number
  /** Requests to objects: calls, streams that are opened, alarms. */
  requests: number
  /** Messages of sockets. */
  messages: number
  rowsRead: number
  /** Alarms that are set among them. */
  rowsWritten: number
  alarmsSet: number
  /** Objects that were started: not billed themselves. */
  woken: number
}
