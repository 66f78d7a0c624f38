/** State that outlives a call, as contexts and hosts know it. `edgemcp/state` declares it. */
import type { ErrorKind } from '../protocol/errors.ts'
import type { Principal } from '../protocol/principal.ts'

/** State of which a call has one: that of its session, its user or their tenant. `T`: what may be done with it. */
export interface KeyedState<T> {
  /** @throws McpError `internal_error` when the call has no such scope */
  open(access: StateAccess): T
}

/** State that is found by a handle. */
export interface HandleState<T> {
  mint(access: StateAccess): Promise<string>
  open(access: StateAccess, handle: string): T
}

/** Where a call finds state, and whose it may be. */
export type StateAccess = StateHost & {
  readonly principal: Principal | undefined
  /** Opaque texts for this principal only. @param lifetimeMs milliseconds */
  seal(purpose: string, value: unknown, lifetimeMs: number): Promise<string>
  open(purpose: string, sealed: string): Promise<unknown>
}

export type StateHost = {
  object(name: string): StateRpc
  /** `undefined` in revisions without sessions. */
  readonly session: StateSession | undefined
}

export type StateSession = {
  readonly name: string
  /** Milliseconds: when the session is over at the latest. */
  readonly expires: number
  /** From now on the session's end is the end of this object's state, too. */
  addStateObject(object: string): void
}

/** The RPC interface of an object that keeps state. */
export interface StateRpc {
  run(call: StateCall): Promise<StateAnswer>
  /** Deletes everything. @param expires milliseconds: until when to remember that it is gone */
  deleteAll(expires?: number): Promise<void>
}

export type StateCall = {
  /** The name of a declaration. */
  readonly state: string
  readonly operation: string
  /** Anything that can be cloned. */
  readonly args: readonly unknown[]
  /** Milliseconds: when it lapses, however much it is used; `undefined`: see the declaration. */
  readonly expires: number | undefined
}

export type StateAnswer =
  | { readonly value: unknown }
  | { readonly gone: true }
  | { readonly thrown: { kind?: ErrorKind; message: string; data?: unknown; stack?: string } }
