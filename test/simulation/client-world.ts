/** What clients need of the world they run in: the simulation, or workerd. */
import type { Random } from './platform/random.ts'

/** The URL of the endpoint, as clients write it. */
export const url = 'http://localhost/mcp'

/** The error of a client whose connection was lost. */
export class ConnectionLost extends Error {
  constructor() {
    super('The connection was lost')
  }
}

export interface ReceivedBody {
  readonly hasEnded: boolean
  /** @throws ConnectionLost after the chunks that arrived */
  chunks(): AsyncGenerator<string>
  text(): Promise<string>
}

export type ReceivedResponse = { readonly status: number; readonly headers: Headers; readonly body: ReceivedBody }

export type ClientRequest = {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface ClientWorld {
  readonly random: Random
  /** Called when all clients have finished. They throw an error for what must not be. */
  readonly checks: (() => void)[]
  /** Errors of the server that a client has received: only a fault may cause them. */
  readonly serverErrors: string[]
  /** Isolates in which the Worker runs: one for each version that may be deployed. */
  readonly isolates: number
  readonly faultCount: number
  /** Faults that may lose a message or the memory of an object. */
  readonly lossCount: number
  /** Seconds by which faults have moved the clock. */
  readonly jumpedSeconds: number
  /** Seconds for which faults have kept clients from reading. */
  readonly heldSeconds: number
  /** Both: seconds by which a client may be late. */
  readonly lateSeconds: number
  /** Milliseconds since the last fault. */
  readonly quietMs: number
  /** Sends a request. @param leave ends the connection @throws ConnectionLost */
  request(address: string, init: ClientRequest, leave?: AbortSignal): Promise<ReceivedResponse>
  sleep(delayMs: number): Promise<void>
  /** Starts a client, which has to finish. */
  start(label: string, script: () => Promise<void>): void
  /** Runs work beside a client. What it throws ends the schedule. */
  beside(work: Promise<unknown>): void
  /** Milliseconds since 1970. */
  now(): number
  /** Returns what objects of a class store that store something, by their names. */
  stored(className: string): ReadonlyMap<string, object>
  /** How often handlers have written an entry of the diary. */
  written(entry: string): number
}
