import type { Context } from '../../declarations/context.ts'
import type { Declarations, HandlerItem, Instrumented } from '../../declarations/declarations.ts'
import type { Open, Server } from '../../declarations/server.ts'
import { bounds } from '../../protocol/bounds.ts'
import { McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Principal } from '../../protocol/principal.ts'
import type { Revision } from '../../protocol/revision.ts'
import type { ClientCapabilities, Implementation, LogLevel, Params, Result } from '../../protocol/types.ts'
import type { Call, CallEnvironment, Outcome } from '../call.ts'

export type MethodContext = {
  readonly server: Server
  readonly call: Call
  readonly environment: CallEnvironment
  readonly context: Context
  /** What a plugin puts around handlers: see `callHandler`. */
  readonly instrumented?: Instrumented | undefined
  /** Settles when the round ends before the handler does: input requests are open, or the handler or a response is at fault. */
  readonly roundEnded: Promise<Outcome>
  /** What the tool's handler threw, if the result says that the tool failed. */
  thrown?: unknown
}

/** What a request is about, by its name. A template is named by its text. */
export type Target = { readonly kind: 'tool' | 'prompt' | 'resource' | 'template'; readonly name: string }

/** A method whose request is a call: it runs in steps, within interceptors. */
export interface Method {
  readonly requires?: undefined
  /** The member of `params` that the header `Mcp-Name` repeats. */
  readonly named?: string
  /** What the params name: the request needs its scopes. The params have not been validated. */
  target?(params: Params): Target | undefined
  /** Whether the server has anything that the method is for. */
  offered(declarations: Declarations, environment: Pick<CallEnvironment, 'updates'>): boolean
  /** The scopes that each request takes. Default: those of what the request names. */
  readonly requiredScopes?: readonly string[]
  /** The scopes of what a handle in the params stands for. @param open of the seals of the principal: handles of other principals have none */
  scopes?(params: Params, open: Open): Promise<readonly string[]>
  /** @throws McpError for a JSON-RPC error */
  answer(context: MethodContext): Promise<Result>
}

/** A method that reads or changes a session. */
export interface SessionMethod {
  readonly requires: 'session'
  readonly target?: Method['target']
  readonly offered: Method['offered']
  /** @throws McpError */
  answer(params: Params, session: SessionControls): Promise<Result>
}

/** What methods change in the session of their request. */
export interface SessionControls {
  setLogLevel(level: LogLevel): void
  /** @throws McpError `resource_not_found` when this caller may not read the resource, `too_many_requests` */
  subscribe(uri: string): Promise<void>
  unsubscribe(uri: string): Promise<void>
}

/** The method that begins a session. */
export interface InitializeMethod {
  readonly requires: 'handshake'
  readonly target?: undefined
  /** @throws McpError `invalid_envelope` for params that are invalid, or too large for the id of a session */
  negotiate(params: Params | undefined): NegotiatedSession
  answer(
    declarations: Declarations,
    revision: Revision,
    environment: Pick<CallEnvironment, 'updates'>,
    principal: Principal | undefined,
  ): Promise<Result>
}

/** What client and server of a session agreed on. JSON. */
export type NegotiatedSession = {
  /** The revision's date. */
  readonly version: string
  /** As the client sent them. */
  readonly capabilities: ClientCapabilities
  readonly client: Implementation
}

/** A method that is answered with a stream of its own. */
export interface ListenMethod {
  readonly requires: 'stream'
  readonly target?: undefined
}

/** A method that the end of a connection answers by itself, also before a session begins. */
export interface PingMethod {
  readonly requires: 'connection'
  readonly target?: undefined
  readonly result: Result
}

/** A method of the protocol. `requires` decides what runs it; a method without is run as a call. */
export type ProtocolMethod = Method | SessionMethod | InitializeMethod | ListenMethod | PingMethod

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
export const readTarget = (kind: Target['kind'], name: unknown): Target | undefined =>
  typeof name === 'string' && name.length <= bounds.uriCharacters ? { kind, name } : undefined
