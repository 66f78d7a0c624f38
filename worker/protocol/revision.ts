/**
 * A revision of the protocol. The newest is written out; every older one is its newer neighbour plus a difference, told
 * backwards. Only revisions/ knows dates: everywhere else asks for a property.
 */
import { type ErrorKind, type ErrorNumbers, errorTable } from './errors.ts'
import { isObject } from './jsonrpc.ts'
import type {
  ClientCapabilities,
  Implementation,
  InputRequest,
  JsonSchema,
  Notification,
  Params,
  Result,
  ServerCapabilities,
} from './types.ts'

export interface Revision {
  readonly date: string
  /** Every request stands alone: no handshake, no session. Otherwise a session answers. */
  readonly stateless: boolean
  /** A POST may carry an array of messages. */
  readonly batching: boolean
  /** A stream opens with a priming event and may be left and polled (SEP-1699). */
  readonly polling: boolean
  /** The methods a client may call. One that is absent is `-32601`, with no `if` anywhere. */
  readonly requests: ReadonlySet<string>
  /** What the client said it can do, in the newest vocabulary. */
  client(capabilities: ClientCapabilities): ClientCapabilities
  /** What this server can do, in this revision's words. */
  server(capabilities: ServerCapabilities): Params
  implementation(info: Implementation): Implementation
  /** A modern result on this revision's wire. */
  result(method: string, result: Result, about?: ResultAbout): Result
  /** `undefined`: this revision has no word for it. */
  notification(notification: Notification): Notification | undefined
  /**
   * `undefined`: a client of this revision cannot be asked this.
   *
   * @param id names what is asked, where a revision has a place for it
   */
  ask(request: InputRequest, id?: string): InputRequest | undefined
  error(kind: ErrorKind): ErrorNumbers
}

/** What a revision may have to know of a call to write its result. */
export type ResultAbout = {
  /** Of the called tool, if it declares one. */
  readonly outputSchema?: JsonSchema | undefined
}

/** What a newer revision changed, run backwards. Each member is data or a pure function of one value. */
export type Difference = {
  date: string
  stateless?: boolean
  batching?: boolean
  polling?: boolean
  /** Methods that only this revision and older ones have. */
  adds?: readonly string[]
  /** Methods that the newer revision introduced. */
  lacks?: readonly string[]
  client?: (capabilities: ClientCapabilities) => ClientCapabilities
  server?: (capabilities: Params) => Params
  implementation?: (info: Implementation) => Implementation
  everyResult?: (result: Result) => Result
  results?: Record<string, (result: Result, about: ResultAbout) => Result>
  notifications?: Record<string, (params: Params) => Params | undefined>
  asks?: Record<string, (params: Params, id?: string) => Params | undefined>
  errors?: Partial<Record<ErrorKind, Partial<ErrorNumbers>>>
}

/** The revision just before `newer`, described by what `newer` changed. */
export function before(newer: Revision, difference: Difference): Revision {
  const { adds = [], lacks = [] } = difference
  return {
    ...newer,
    // Its date and its traits. The members below weave its changes into what the newer one writes.
    ...difference,
    requests: new Set([...newer.requests, ...adds].filter((method) => !lacks.includes(method))),
    // Upwards the older wire is read first; downwards the newer one is written first.
    client: (capabilities) => newer.client(changed(capabilities, difference.client)),
    server: (capabilities) => changed(newer.server(capabilities), difference.server),
    implementation: (info) => changed(newer.implementation(info), difference.implementation),
    result: (method, result, about = {}) => {
      const written = changed(newer.result(method, result, about), difference.everyResult)
      return difference.results?.[method]?.(written, about) ?? written
    },
    notification: (notification) => reword(newer.notification(notification), difference.notifications),
    ask: (request, id) => reword(newer.ask(request, id), difference.asks, id),
    error: (kind) => ({ ...newer.error(kind), ...difference.errors?.[kind] }),
  }
}

const changed = <T>(value: T, change?: (value: T) => T): T => (change ? change(value) : value)

function reword<T extends { method: string; params?: Params }>(
  message: T | undefined,
  changes: Difference['asks'],
  id?: string,
): T | undefined {
  const change = message && changes?.[message.method]
  if (!change) return message
  const params = change(message.params ?? {}, id)
  return params && { ...message, params }
}

/** The newest revision: what the core speaks, unchanged but for the mark that says what kind of result this is. */
export function newest(date: string, requests: readonly string[]): Revision {
  return {
    date,
    stateless: true,
    batching: false,
    polling: false,
    requests: new Set(requests),
    // An empty elicitation capability means forms, and forms only.
    client: (capabilities) =>
      isObject(capabilities.elicitation) && Object.keys(capabilities.elicitation).length === 0
        ? { ...capabilities, elicitation: { form: {} } }
        : capabilities,
    server: (capabilities) => capabilities,
    implementation: (info) => info,
    result: (_, result) => (result.resultType ? result : { resultType: 'complete', ...result }),
    notification: (notification) => notification,
    ask: (request) => request,
    error: (kind) => errorTable[kind],
  }
}
