/** What the endpoint needs of the place where it runs. */
import type { RequestStateRpc } from '../../durable-objects/store/rpc.ts'
import type { RequestContext } from '../declarations/request-context.ts'
import type { Seals } from '../engine/call.ts'
import { maxAnswerTimeoutMs } from '../engine/journal.ts'
import type { NegotiatedSession } from '../engine/methods/method.ts'
import type { Principal } from '../protocol/principal.ts'
import type { IncomingRequest, Limiter, ServerInfo } from '../request-hooks.ts'
import type { Sealer } from '../sealing/seal.ts'
import type { Cors } from './cors.ts'
import type { Limits } from './limits.ts'
import type { Policy } from './origin-and-host.ts'

export type Host = ServerInfo & {
  readonly limits: Limits
  readonly policy: Policy
  readonly cors: Cors
  readonly limit: Limiter | undefined
  /** Calls the option `requestContext` of `serve()`; `undefined` without the option. */
  readonly readContext: ((incoming: IncomingRequest) => Promise<RequestContext>) | undefined
  /** Returns what the client of a session declared: see `Transport`. `undefined` without sessions. */
  readonly handshakeOf:
    | ((id: string, principal: Principal | undefined) => Promise<NegotiatedSession | undefined>)
    | undefined
  /** Whether clients can receive change notifications. */
  readonly updates: boolean
  /** Returns the object that stores one request state of a stateless call. */
  requestState(name: string): RequestStateRpc
  /** The tenant that the address of the endpoint names; `undefined`: the endpoint has no tenants. */
  readonly tenant: string | undefined
  /** Returns the sealer of this identity. */
  sealer(): Promise<Sealer>
}

/** Returns the seals of one principal at one endpoint. */
export const sealsOf = (
  { sealer, identity }: Pick<Host, 'sealer' | 'identity'>,
  principal: Principal | undefined,
): Seals => ({
  identity,
  seal: async (purpose, value, lifetimeMs = maxAnswerTimeoutMs) =>
    (await sealer()).seal(purpose, principal, value, lifetimeMs),
  createId: async (purpose, lifetimeMs, flag = false) =>
    (await sealer()).createId(purpose, principal, lifetimeMs, flag),
  open: async (purpose, sealed) => (await sealer()).open(purpose, principal, sealed),
})
