/**
 * The endpoints of this isolate. One server may have several, each with its own auth and limits, so their options are not stored with the
 * server. Work that outlives its request stores the key of the endpoint that admitted it.
 */
import { BoundedMap } from '../protocol/bounded-map.ts'
import { McpError } from '../protocol/errors.ts'
import type { CountRound } from './call-attempt.ts'
import type { Declarations, StandInTerms } from './declarations.ts'
import type { Server } from './server.ts'
import { type Admitted, type StoredByIssuer, storingTerms } from './stored-principal.ts'

export type Endpoint = {
  readonly server: Server
  readonly path: string
  readonly auth: StoredByIssuer | undefined
  /** Counts a round of a call in a session; `undefined`: the endpoint has no limits. */
  readonly countRound: CountRound | undefined
  /** Names of its plugins, with their `variant`. */
  readonly plugins: readonly string[]
  /** Whether `handlerErrors` is not `'message'`. */
  readonly hidesErrors: boolean
  /** The exported name of the class that delivers its changes; `undefined` without `subscriptions()`. */
  readonly subscriptionsClass?: string | undefined
}

type Registered = {
  readonly endpoint: Endpoint
  /** What describes the endpoint in calls. */
  readonly admitted: Admitted
  /** The same as JSON: each call of a session is compared with it. */
  readonly description: string
}

/**
 * By key. Endpoints of one key are those of several hosts, or paths with one `identity`. Endpoints that are created on demand, such as those of
 * `routeByTenant`, are created again when a request needs them.
 */
const endpoints = new BoundedMap<string, readonly Registered[]>({ maxEntries: 10_000 })

/** Of one key. */
const maxEndpoints = 100

/** @param tenant the tenant of an auth that admits one tenant only: such endpoints may have the same identity */
export const endpointKey = (identity: string, tenant: string | undefined): string =>
  JSON.stringify([identity, tenant ?? null])

/**
 * An endpoint that is made again replaces the one before.
 *
 * @param admitted describes the endpoint
 * @throws Error when another server of the same name delivers its changes through the same class, whose objects are named after the server
 */
export function registerEndpoint(endpoint: Endpoint, admitted: Admitted): void {
  const key = admitted.endpoint
  const { options } = endpoint.server.declarations
  const { subscriptionsClass: className } = endpoint
  for (const { endpoint: other, admitted: otherAdmitted } of className ? registered() : []) {
    const { options: others } = other.server.declarations
    if (otherAdmitted.endpoint === key || other.subscriptionsClass !== className) continue
    if (others === options || others.name !== options.name) continue
    throw new Error(
      `Two servers with the name "${options.name}" share the class ${className}, so clients of one would receive changes of the other: give one another name, or its own class with durableObjects.names`,
    )
  }
  const description = JSON.stringify(admitted)
  const others = endpointsAt(key).filter((other) => other.description !== description)
  endpoints.set(key, [...others.slice(1 - maxEndpoints), { endpoint, admitted, description }])
}

function* registered(): Generator<Registered> {
  for (const [, ofKey] of endpoints) yield* ofKey
}

/** Returns the endpoints of a key. */
export const endpointsAt = (key: string): readonly Registered[] => endpoints.get(key) ?? []

/**
 * Whether an endpoint has all that a call was admitted with, so that the call can run with it: a deployment may add plugins, and change
 * limits.
 */
const covers = (own: Admitted, admitted: Admitted): boolean =>
  own.path === admitted.path &&
  admitted.plugins.every((plugin) => own.plugins.includes(plugin)) &&
  admitted.storedClaims.every((claim) => own.storedClaims.includes(claim)) &&
  JSON.stringify(own.storedByIssuer) === JSON.stringify(admitted.storedByIssuer) &&
  own.hidesErrors >= admitted.hidesErrors &&
  own.isLimited >= admitted.isLimited &&
  own.isReauthorized >= admitted.isReauthorized

/**
 * Returns the endpoint that admitted a call: the one that the call describes or, after a deployment, the only one that covers it. `undefined`:
 * this isolate has not made it.
 */
export function endpointOf(admitted: Admitted): Endpoint | undefined {
  const ofKey = endpointsAt(admitted.endpoint)
  const description = JSON.stringify(admitted)
  const exact = ofKey.find((each) => each.description === description)
  const [only, ...others] = exact ? [exact] : ofKey.filter((each) => covers(each.admitted, admitted))
  return others.length > 0 ? undefined : only?.endpoint
}

/** Returns the declarations of a server; `undefined` if no endpoint of it was made in this isolate. */
export function declarationsOf(serverName: string): Declarations | undefined {
  for (const { endpoint } of registered()) {
    const { server } = endpoint
    if (server.declarations.options.name === serverName) return server.declarations
  }
  return undefined
}

export const admittedBy = (
  key: string,
  { auth, countRound, plugins, hidesErrors, server, path }: Endpoint,
  handlerTimeMs: number | undefined,
): Admitted => ({
  ...storingTerms(auth),
  endpoint: key,
  path,
  serverName: server.declarations.options.name,
  isLimited: countRound !== undefined,
  handlerTimeMs,
  plugins,
  hidesErrors,
  // `Infinity` has no form as JSON.
  maxResultBytes: Math.min(server.declarations.maxResultBytes ?? Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER),
})

/**
 * Returns the function that counts the calls of a session: that of the endpoint that admitted the call or, if this isolate does not have
 * that endpoint, that of the endpoint whose class stores the session.
 *
 * @param countRound of the endpoint whose class stores the session
 * @throws McpError when `countRound` is missing: whether this isolate has the other endpoint can change from request to request
 */
export function countRoundFor(admitted: Admitted, countRound: CountRound | undefined): CountRound | undefined {
  if (!admitted.isLimited) return countRound
  if (countRound) {
    return endpointOf(admitted)?.countRound ?? ((attempt) => countRound(attempt, admitted.hidesErrors))
  }
  throw new McpError(
    'internal_error',
    'The endpoint has rateLimit(), but the endpoint that stores its sessions does not: add it to both',
  )
}

/**
 * Returns the server, with the plugins of the endpoint that admitted a call, for a Durable Object whose class belongs to another endpoint.
 *
 * @param own the endpoint of the class
 * @throws McpError `internal_error` when the other endpoint has another server, or does not exist in this isolate and has other plugins,
 * without which the call would run
 */
export function serverFor(admitted: Admitted, own: Pick<Endpoint, 'server' | 'plugins'>, className: string): Server {
  const server = endpointOf(admitted)?.server
  if (!server) {
    const [identity] = JSON.parse(admitted.endpoint) // made by `endpointKey`
    return standIn({ ...admitted, identity }, own, className)
  }
  // One server has a view for each of its endpoints.
  if (server.declarations.options === own.server.declarations.options) return server
  throw otherServer(className, own.server, admitted.serverName)
}

const otherServer = (className: string, { declarations }: Pick<Server, 'declarations'>, name: string) =>
  new McpError(
    'internal_error',
    `The class ${className} belongs to the server "${declarations.options.name}", not to "${name}": give each server its own with durableObjects.names`,
  )

/**
 * Returns the server of the endpoint of a class, for a call of an endpoint that does not exist in this isolate. Results have the limit of
 * that endpoint, and plugins its identity. If it hides the messages of exceptions, clients receive the generic text. `onError` is that of
 * the endpoint of the class.
 *
 * @param call data about the other endpoint
 * @throws McpError `internal_error` when the server or the plugins differ
 */
export function standIn<S extends Pick<Server, 'declarations'>>(
  {
    serverName,
    plugins,
    identity,
    hidesErrors,
    maxResultBytes,
  }: StandInTerms & Pick<Admitted, 'serverName' | 'plugins'>,
  own: { readonly server: S; readonly plugins: readonly string[] },
  className: string,
): S {
  const { declarations } = own.server
  const { name } = declarations.options
  if (serverName !== name) throw otherServer(className, own.server, serverName)
  if (JSON.stringify(plugins) !== JSON.stringify(own.plugins)) {
    throw new McpError(
      'internal_error',
      `The endpoint of this call and the endpoint with the class ${className} have different plugins, or other options of them: give both the same`,
    )
  }
  const value = declarations.standIn?.({ identity, hidesErrors, maxResultBytes })
  return value ? Object.create(own.server, { declarations: { value } }) : own.server
}
