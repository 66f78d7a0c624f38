/** What the endpoint needs from where it runs. */
import type { RequestStateRpc, SessionRpc, Shards } from '../../durable-objects/rpc.ts'
import type { UpdatesOptions } from '../../durable-objects/subscriptions/object.ts'
import type { Admitted } from '../declarations/endpoints.ts'
import type { Seals } from '../engine/call.ts'
import { longestWait } from '../engine/journal.ts'
import type { Limiter, ServerInfo } from '../plugins/auth/auth.ts'
import type { RequestMessage } from '../protocol/jsonrpc.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Sealer } from '../sealing/seal.ts'
import type { Policy } from './guard.ts'
import type { Limits } from './limits.ts'

export type Host = ServerInfo & {
  readonly limits: Limits
  readonly policy: Policy
  readonly limit: Limiter | undefined
  /** Where sessions and listeners live; `undefined` on a server without Durable Objects. */
  readonly objects: Objects | undefined
  /** `undefined` on a server that tells of no changes. */
  readonly updating: Updating | undefined
  /** The object that stands for one state of a stateless call. */
  round(name: string): RequestStateRpc
  /** Names this endpoint among all that have the same keys: see `ServeOptions.identity`. */
  readonly identity: string
  /** What holds for one of its sessions, by the name of its object: `SessionTerms` as a text. */
  termsOf(session: string): string
  /** What is stored with work that outlives its request. */
  readonly admitted: Admitted
  /** Seals for this identity. */
  sealer(): Promise<Sealer>
}

export type Objects = {
  session(name: string): SessionRpc
}

/** What a server does whose changes are told: see `edgemcp/subscriptions`. */
export type Updating = {
  readonly shards: Shards
  readonly options: UpdatesOptions
  /** @param address of the client, where the platform states it */
  listen(
    message: RequestMessage,
    host: Host,
    shards: Shards,
    principal: Principal | undefined,
    address: string | undefined,
  ): Promise<Response>
}

/** The seals of one principal at one endpoint. */
export const sealsOf = (
  { sealer, identity }: Pick<Host, 'sealer' | 'identity'>,
  principal: Principal | undefined,
): Seals => ({
  identity,
  seal: async (purpose, value, lifetimeMs = longestWait) =>
    (await sealer()).seal(purpose, principal, value, lifetimeMs),
  open: async (purpose, sealed) => (await sealer()).open(purpose, principal, sealed),
})
