/**
 * The endpoints of this isolate. One server may have several, each with an auth and limits of its own, so their options are not kept
 * with the server. Work that outlives its request stores the key of the endpoint that admitted it.
 */
import { BoundedMap } from '../protocol/bounded-map.ts'
import { McpError } from '../protocol/errors.ts'
import type { EnterCall } from './call-attempt.ts'
import type { Server } from './server.ts'
import type { StoredPrincipals } from './stored-principal.ts'

export type Endpoint = {
  readonly server: Server
  readonly auth: StoredPrincipals | undefined
  /** Counts a round of a call in a session; `undefined`: the endpoint has no limits. */
  readonly enter: EnterCall | undefined
}

/** What an endpoint says about a call that it admitted, for objects in whose isolate the endpoint may be unknown. */
export type Admitted = {
  /** Of the endpoint: see `endpointKey`. */
  readonly endpoint: string
  /** The name of the server that the endpoint serves. A Worker of an older release leaves it out. */
  readonly serverName?: string
  readonly storedClaims: readonly string[]
  /** The auth has `reauthorize`, so a task of this call may not run without. */
  readonly isReauthorized: boolean
  /** The endpoint counts rounds of calls. */
  readonly isLimited: boolean
  /** Milliseconds that handlers of the endpoint may run; left out: no limit. */
  readonly handlerTimeMs?: number | undefined
}

/** Endpoints made on demand, such as those of `routeByTenant`, are made again when they are asked again. */
const endpoints = new BoundedMap<string, Endpoint>({ maxEntries: 10_000 })

/** @param tenant of an auth that admits one tenant only: such endpoints may have one identity */
export const endpointKey = (identity: string, tenant: string | undefined): string =>
  JSON.stringify([identity, tenant ?? null])

/** An endpoint that is made again replaces the one before. */
export function registerEndpoint(key: string, endpoint: Endpoint): void {
  endpoints.set(key, endpoint)
}

/** `undefined`: the endpoint was not made in this isolate. */
export const endpointOf = (key: string): Endpoint | undefined => endpoints.get(key)

export const admittedBy = (
  key: string,
  { auth, enter, server }: Endpoint,
  handlerTimeMs: number | undefined,
): Admitted => ({
  ...storingTerms(auth),
  endpoint: key,
  serverName: server.registry.options.name,
  isLimited: enter !== undefined,
  handlerTimeMs,
})

export const storingTerms = (
  auth: StoredPrincipals | undefined,
): Pick<Admitted, 'storedClaims' | 'isReauthorized'> => ({
  storedClaims: auth?.storedClaims ?? [],
  isReauthorized: auth?.reauthorize !== undefined,
})

/**
 * What counts calls in a session. The limits of the endpoint that admitted the call or, where it was not made in this isolate, those of the
 * endpoint whose class keeps the session.
 *
 * @param enterCall of the endpoint whose class keeps the session
 * @throws McpError when that one has none: whether the other is known here may change from request to request
 */
export function enterFor(admitted: Admitted | undefined, enterCall: EnterCall | undefined): EnterCall | undefined {
  if (!admitted?.isLimited) return enterCall
  if (enterCall) return endpointOf(admitted.endpoint)?.enter ?? enterCall
  throw new McpError(
    'internal_error',
    'The endpoint has limits, and the endpoint whose class keeps its sessions has none: give that one rateLimit() too',
  )
}

/**
 * Refuses a request of a session that the class of another server keeps: that server's handlers would run, whatever its own endpoints ask
 * of a caller.
 *
 * @param ownServer the server of the class
 * @throws McpError `internal_error`
 */
export function checkSessionServer(admitted: Admitted | undefined, ownServer: Server, className: string): void {
  if (admitted?.serverName === undefined) return
  const server = endpointOf(admitted.endpoint)?.server
  const ownName = ownServer.registry.options.name
  // One server has a view for each of its endpoints.
  if (server ? server.registry.options === ownServer.registry.options : admitted.serverName === ownName) return
  throw new McpError(
    'internal_error',
    `The class ${className} keeps sessions of the server "${ownName}", and not of "${admitted.serverName}": give each server classes of its own with the option durableObjects.names of serve()`,
  )
}
