/** The kinds of methods of the protocol, and functions that read params. */
import type { Caller, CallerContext, Guarded } from '../../declarations/caller.ts'
import type { Awaitable, Context } from '../../declarations/context.ts'
import type { Declarations, HandlerItem, Instrumented, Open } from '../../declarations/declarations.ts'
import type { Prompt } from '../../declarations/prompt.ts'
import type { Resource } from '../../declarations/resource.ts'
import type { Server } from '../../declarations/server.ts'
import type { Tool } from '../../declarations/tool.ts'
import * as bounds from '../../protocol/bounds.ts'
import { McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Revision } from '../../protocol/revision.ts'
import type { ClientCapabilities, Implementation, LogLevel, Params, Result } from '../../protocol/types.ts'
import type { Call, CallEnvironment, Outcome } from '../call.ts'

/** Provides a method with its call and its server. */
export type MethodContext = {
  /** The server of the endpoint. */
  readonly server: Server
  /** The call: method, params, principal, client and protocol version. */
  readonly call: Call
  /** What the call names. */
  readonly target: Target
  /** The caller, as functions of declarations get it. */
  readonly caller: CallerContext
  /** Services of the place where the call runs: a Worker, or the Durable Object of a session or a task. */
  readonly environment: CallEnvironment
  /** The `ctx` that handlers receive. */
  readonly context: Context
  /** Watches handlers in development. */
  readonly instrumented?: Instrumented | undefined
  /** Resolves if the round ends before the handler: input requests are open, or the handler or a response is invalid. */
  readonly roundEnded: Promise<Outcome>
  /** The value that the handler of a tool threw, if the result has `isError`. */
  thrown?: unknown
  /** Whether a list lacks entries whose functions threw. */
  isPartial?: boolean
}

/** The entry that a request names. A template is named by its text. */
export type EntryName = { readonly kind: 'tool' | 'prompt' | 'resource' | 'template'; readonly name: string }

type Variables = Readonly<Record<string, string | string[]>>

/** The entry that a request names. */
export type Found = {
  readonly tool?: Tool | undefined
  readonly prompt?: Prompt | undefined
  /** A template by its own text, or what serves a URI. */
  readonly resource?: Resource | undefined
  /** What serves a URI. */
  readonly match?: { readonly resource: Resource; readonly variables: Variables } | undefined
  /** Any of these, or of an upstream. If several upstreams may have it, it has the scopes of all of them. */
  readonly entry?: Guarded | undefined
  /** The entry; if several upstreams may have it, that of each. */
  readonly entries: readonly Guarded[]
}

/** What the request of one round of a call names. */
export interface Target {
  readonly found: Found
  /** Returns the method of the protocol; `undefined` if the protocol version does not have it. */
  methodIn(revision: Revision): ProtocolMethod | undefined
  /** Returns the method that runs the request as a call; `undefined` if there is none. Methods of plugins come first. */
  callIn(revision: Revision): Method | undefined
  /** Returns the entries whose scopes the request needs, also through a handle. Only a handle needs a promise. @param open see `Method.scopes` */
  guards(open: Open): Awaitable<readonly Guarded[]>
  /** Forgets who sees what, for a call that has waited since it was decided. */
  decideAgain(): void
  /** Whether the caller sees one of the entries, which is decided once. @param context has the caller, which is the same for the round */
  isVisible(entry: Guarded, context: { readonly caller: Caller }): Promise<boolean>
}

/** Answers requests of one JSON-RPC method. Its calls run in steps, inside interceptors. */
export interface Method {
  /** Always absent: it distinguishes methods that run as calls from those that need a session or a connection. */
  readonly requires?: undefined
  /** The member of `params` that the header `Mcp-Name` repeats. Default: none. */
  readonly named?: string
  /** Returns the entry that the params name, whose scopes the request needs. The params have not been validated. */
  names?(params: Params): EntryName | undefined
  /** Returns whether the server declares anything that the method is for. */
  offered(declarations: Declarations, environment: Pick<CallEnvironment, 'updates'>): boolean
  /** Scopes that each request needs. Default: those of the entry that the request names. */
  readonly requiredScopes?: readonly string[]
  /** Returns the scopes of a handle in the params. @param open unseals handles of the principal; those of other principals have no scopes */
  scopes?(params: Params, open: Open): Promise<readonly string[]>
  /** Returns the result. @throws McpError to answer with an error */
  answer(context: MethodContext): Promise<Result>
}

/** A method that reads or changes a session. */
export interface SessionMethod {
  readonly requires: 'session'
  readonly names?: Method['names']
  readonly offered: Method['offered']
  /** @throws McpError */
  answer(params: Params, session: SessionControls): Promise<Result>
}

/** What methods can change in the session of their request. */
export interface SessionControls {
  setLogLevel(level: LogLevel): void
  /** @throws McpError `resource_not_found` when this caller may not read the resource, `too_many_requests` */
  subscribe(uri: string): Promise<void>
  unsubscribe(uri: string): Promise<void>
}

/** The method that starts a session. */
export interface InitializeMethod {
  readonly requires: 'handshake'
  readonly names?: undefined
  /** @throws McpError `invalid_envelope` for params that are invalid, or too large for the id of a session */
  negotiate(params: Params | undefined): NegotiatedSession
  answer(declarations: Declarations, revision: Revision, environment: SessionFeatures, caller: Caller): Promise<Result>
}

/** What an endpoint can do for clients that send `initialize`. */
export type SessionFeatures = Pick<CallEnvironment, 'updates'> & {
  /** Whether it has sessions, so that `logging/setLevel` works. */
  readonly hasSessions: boolean
}

/** The agreement of client and server at the start of a session. It is JSON. */
export type NegotiatedSession = {
  /** The date of the protocol version. */
  readonly version: string
  /** The capabilities that the client sent. */
  readonly capabilities: ClientCapabilities
  readonly client: Implementation
}

/** A method that the connection answers itself, also before a session starts. */
export interface PingMethod {
  readonly requires: 'connection'
  readonly names?: undefined
  readonly result: Result
}

/** A method of the protocol. `requires` names what runs it; a method without `requires` runs as a call. */
export type ProtocolMethod = Method | SessionMethod | InitializeMethod | PingMethod

/** Calls the handler of an entry. */
export const callHandler = <A, C>(
  { instrumented }: MethodContext,
  kind: 'tool' | 'prompt' | 'resource',
  entry: { readonly item: HandlerItem; handler(args: A, context: C): unknown },
  args: A,
  context: C,
): unknown =>
  // Bound, because a function around the handler would be a line in its stacks.
  instrumented
    ? instrumented.run(kind, entry.item, entry.handler.bind(entry, args, context))
    : entry.handler(args, context)

/** @throws McpError `invalid_params` */
export function readText(params: Params, name: string, where = 'params'): string {
  const value = params[name]
  if (typeof value !== 'string') throw new McpError('invalid_params', `${where}.${name} must be a string`)
  return value
}

/** An object member; empty when it is absent. @throws McpError `invalid_params` */
export function readObject(params: Params, name: string, where = 'params'): Params {
  const value = params[name] ?? {}
  if (!isObject(value)) throw new McpError('invalid_params', `${where}.${name} must be an object`)
  return value
}

/** An object of texts; empty when it is absent. @throws McpError `invalid_params` */
export function readTexts(params: Params, name: string, where = 'params'): Record<string, string> {
  const value = readObject(params, name, where)
  checkTexts(value, name, where)
  return value
}

function checkTexts(value: Params, name: string, where: string): asserts value is Record<string, string> {
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') throw new McpError('invalid_params', `${where}.${name}.${key} must be a string`)
  }
}

/** @param name as the client sent it. A name beyond the largest bound names nothing: audit logs have messages that were refused for their size, too */
export const readEntryName = (kind: EntryName['kind'], name: unknown): EntryName | undefined =>
  typeof name === 'string' && name.length <= bounds.uriCharacters ? { kind, name } : undefined
