/**
 * A protocol version (revision). The newest is written out; each older one is the next newer one with a difference that is applied
 * backwards. Only revisions/ contains dates: all other code reads a property.
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

/** What a version has or has not. Each version states all of it: nothing of a newer version passes to older ones unseen. */
export type Traits = {
  /** Whether requests are independent: no handshake, no session. */
  readonly stateless: boolean
  /** Whether a POST may contain an array of messages. */
  readonly batching: boolean
  /** Whether a stream starts with a priming event and can be polled (SEP-1699). */
  readonly polling: boolean
}

export interface Revision extends Traits {
  readonly date: string
  /** Methods that a client may call. Others get `-32601`. */
  readonly requests: ReadonlySet<string>
  /** Converts the capabilities of a client into the form of the newest version. */
  client(capabilities: ClientCapabilities): ClientCapabilities
  /** Converts the capabilities of this server into the form of this version. */
  server(capabilities: ServerCapabilities): Params
  implementation(info: Implementation): Implementation
  /** Converts a result into the form of this version. */
  result(method: string, result: Result, about?: ResultAbout): Result
  /** Converts a notification into the form of this version; `undefined` if the version does not have it. */
  notification(notification: Notification): Notification | undefined
  /**
   * Converts an input request into the form of this version; `undefined` if the version does not have it.
   *
   * @param id identifies the elicitation, in versions with a member for it. A member `elicitationId` of the params is removed
   */
  ask(request: InputRequest, id?: string): InputRequest | undefined
  error(kind: ErrorKind): ErrorNumbers
}

/** What a version may need to know of a call to write its result. */
export type ResultAbout = {
  /** Of the called tool, if it has one. */
  readonly outputSchema?: JsonSchema | undefined
}

/** The changes of a newer version, applied backwards. Each member is data, or a pure function of one value. */
export type Difference = {
  date: string
  traits: Traits
  /** Methods that only this version and older ones have. */
  adds?: readonly string[]
  /** Methods that the newer version introduced. */
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

/** Returns the version before `newer`. */
export function before(newer: Revision, difference: Difference): Revision {
  const { adds = [], lacks = [] } = difference
  return {
    date: difference.date,
    ...difference.traits,
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

/** Removes the id of a URL elicitation, which versions with such a member get as the argument of `ask`. */
function withoutElicitationId(request: InputRequest): InputRequest {
  if (request.method !== 'elicitation/create' || !('elicitationId' in request.params)) return request
  const { elicitationId: _, ...params } = request.params
  return { ...request, params }
}

/** Returns the newest version: the form of the engine, with the member `resultType` added. */
export function newest(date: string, traits: Traits, requests: readonly string[]): Revision {
  return {
    date,
    ...traits,
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
    ask: withoutElicitationId,
    error: (kind) => errorTable[kind],
  }
}
