/** State that outlives a call, as contexts and Durable Objects use it. `edgemcp/state` declares it. */
import type { ErrorKind } from '../protocol/errors.ts'
import type { Principal } from '../protocol/principal.ts'

/** Declares state that a call has one of: that of its session, user or tenant. `T` is the type of its operations. Pass it to `ctx.state`. */
export interface KeyedState<T> {
  /** Opens the state of a call. Called by `ctx.state`. @throws McpError `internal_error` when the call has no session, user or tenant */
  open(access: StateAccess): T
}

/** Declares state that is found by a handle. `T` is the type of its operations. Pass it to `ctx.createHandle` and `ctx.state`. */
export interface HandleState<T> {
  /** Creates a handle. Called by `ctx.createHandle`. */
  mint(access: StateAccess): Promise<string>
  /** Opens the state of a handle. Called by `ctx.state`. */
  open(access: StateAccess, handle: string): T
}

/** Where a call finds state, and which principal may use it. */
export type StateAccess = StateHost & {
  readonly principal: Principal | undefined
  /** Identity of the endpoint of the call. */
  readonly identity: string
  /** Returns an id for this principal. @param lifetimeMs milliseconds */
  createId(purpose: string, lifetimeMs: number): Promise<string>
  /** Returns the `OpenedId` of an id; `undefined` for an unknown, foreign or expired one. */
  open(purpose: string, id: string): Promise<unknown>
}

export type StateHost = {
  object(name: string): StateRpc
  /** `undefined` in protocol versions without sessions. */
  readonly session: StateSession | undefined
}

export type StateSession = {
  readonly name: string
  /** Milliseconds since 1970: when the session ends at the latest. */
  readonly expires: number
  /** Deletes the state of this object when the session ends. */
  addStateObject(object: string): void
}

/** The RPC interface of a Durable Object that stores state. */
export interface StateRpc {
  run(call: StateCall): Promise<StateAnswer>
  /** Deletes everything. @param expires milliseconds since 1970: until when to store that it was deleted */
  deleteAll(expires?: number): Promise<void>
}

export type StateCall = {
  /** The name of a declaration. */
  readonly state: string
  readonly operation: string
  /** Structured-cloneable values. */
  readonly args: readonly unknown[]
  /** Milliseconds since 1970: when the state expires, however much it is used; `undefined`: see the declaration. */
  readonly expires: number | undefined
}

export type StateAnswer =
  | { readonly value: unknown }
  | { readonly gone: true }
  | { readonly thrown: { kind?: ErrorKind; message: string; data?: unknown; stack?: string } }
