/** `state()`: declares state that outlives a call. */
import { checkOptions, checkValue, type KindsOf, preview } from '../../declarations/check-options.ts'
import { type Duration, millisecondsOrInfinity } from '../../declarations/duration.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { HandleState, KeyedState, StateAccess, StateCall } from '../../declarations/state.ts'
import { declare, type Operations, type StateOwner, type Store } from '../../declarations/state-declaration.ts'
import * as bounds from '../../protocol/bounds.ts'
import { DeveloperError, McpError } from '../../protocol/errors.ts'
import { type Owner, ownerKey } from '../../protocol/principal.ts'
import type { OpenedId } from '../../sealing/short-id.ts'

/** Configures any state: the options that states of all owners have. */
type Common = {
  /**
   * Scopes that the token of a caller must have, all of them. Without them, the call ends with an error that the model can read. Default:
   * none.
   */
  scopes?: readonly string[]
  /**
   * SQL statements that create its tables. Each runs once, before the first operation after it was added: append statements to change a
   * table. Default: none.
   */
  tables?: readonly string[]
}

/** Configures state of a session. It is deleted with the session. */
export type SessionStateOptions = Common & {
  /** Owner of the state: the session of the call. */
  per: 'session'
  /** Not available: the state is deleted with its session. */
  ttl?: undefined
  /** Not available: a session belongs to one endpoint. */
  allEndpoints?: undefined
}

/**
 * Configures state of a user or of a tenant, which all its clients, sessions and protocol versions share. A user who acts for several
 * tenants has separate state in each, and so has a user of several endpoints.
 */
export type UserStateOptions = Common & {
  /** Owner of the state: the subject of the token, or its tenant. */
  per: 'user' | 'tenant'
  /** Duration after its last use at which the state is deleted; `Infinity` keeps it until `deleteAll()`. */
  ttl: Duration
  /**
   * Whether all endpoints of the Worker share the state. Default: false; each endpoint, by its `identity`, has state of its own for the same
   * user or tenant.
   */
  allEndpoints?: boolean
}

/** Configures state that is found by a handle: a text that one tool returns and other tools take as an argument. */
export type HandleStateOptions = Common & {
  /** Each handle has state of its own. */
  per: 'handle'
  /** Duration after its creation at which the handle expires and its state is deleted. */
  ttl: Duration
  /** Not available: a handle is valid at one endpoint. */
  allEndpoints?: undefined
}

/** Types the operations of a state for callers: each is one request to the Durable Object of the state, and one transaction in it. */
export type StateStub<O> = {
  readonly [K in keyof O]: O[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<R> : never
} & Deletable

/** Deletes a state. */
export interface Deletable {
  /** Deletes all values and tables. */
  deleteAll(): Promise<void>
}

/** Reads and writes a state that declares no operations of its own. Each method is one request to a Durable Object. */
export interface KeyValue<V extends object> extends Deletable {
  /** Returns a value; `undefined` if there is none. */
  get<K extends keyof V & string>(key: K): Promise<V[K] | undefined>
  /** Stores a value: any structured-cloneable value, up to 2 MB. */
  put<K extends keyof V & string>(key: K, value: V[K]): Promise<void>
  /** Deletes a value. Returns whether it existed. */
  delete(key: keyof V & string): Promise<boolean>
  /** Returns all values, sorted by key. */
  entries(): Promise<[key: keyof V & string, value: V[keyof V & string]][]>
}

type Values = Record<string, unknown>

const kinds: KindsOf<SessionStateOptions | UserStateOptions | HandleStateOptions> = {
  // Checked by `checkLife`.
  per: kind.anything,
  ttl: kind.anything,
  tables: kind.strings,
  scopes: kind.strings,
  allEndpoints: kind.flag,
}

/**
 * Declares state that outlives a call. Handlers open it with `ctx.state`.
 *
 * Operations are synchronous functions that run in the Durable Object of the state. Each is a transaction: if it throws, nothing changes.
 * Arguments and results are structured-cloneable values.
 *
 * @param name 1 to 64 letters, digits, `.`, `_` and `-`, unique in the Worker
 * @param options `per` decides the owner: a session, user, tenant or handle
 * @param operations returns the operations by name. Default: `get`, `put`, `delete` and `entries`
 * @throws Error at startup for an invalid name, option or operation. The message names the fix
 * @see https://developers.cloudflare.com/durable-objects/api/sqlite-storage-api/
 *
 * @example
 * const visits = state('visits', { per: 'user', ttl: Infinity }, (store: Store<{ count: number }>) => ({
 *   add() {
 *     const count = (store.get('count') ?? 0) + 1
 *     store.put('count', count)
 *     return count
 *   },
 * }))
 * server.tool('visit', { description: 'Count visits' }, async (_, ctx) => `Visit ${await ctx.state(visits).add()}`)
 */
export function state<V extends object = Values>(
  name: string,
  options: SessionStateOptions | UserStateOptions,
): KeyedState<KeyValue<V>>
export function state<V extends object = Values>(name: string, options: HandleStateOptions): HandleState<KeyValue<V>>
export function state<O extends object, V extends object = Values>(
  name: string,
  options: SessionStateOptions | UserStateOptions,
  operations: (store: Store<V>) => O,
): KeyedState<StateStub<O>>
export function state<O extends object, V extends object = Values>(
  name: string,
  options: HandleStateOptions,
  operations: (store: Store<V>) => O,
): HandleState<StateStub<O>>
export function state(
  name: string,
  options: SessionStateOptions | UserStateOptions | HandleStateOptions,
  operations: (store: Store) => object = keyValue,
): unknown {
  checkValue('state()', 'name', name, kind.string)
  checkValue('state()', 'operations', operations, kind.fn)
  checkOptions('state()', options, kinds)
  const { per, tables = [], scopes = [], allEndpoints = false } = options
  const ttl =
    options.ttl === undefined ? undefined : millisecondsOrInfinity(options.ttl, `The ttl of the state "${name}"`)
  checkLife(name, per, ttl)
  if (allEndpoints && per !== 'user' && per !== 'tenant') {
    throw new Error(`The state "${name}" is per ${per}, which only one endpoint has: remove allEndpoints`)
  }
  const lasts = ttl === Number.POSITIVE_INFINITY ? undefined : ttl
  // namesOf() refuses what is no function.
  declare({ name, per, ttl: lasts, tables, operations: operations as (store: Store) => Operations })
  const names = namesOf(name, operations)
  const purpose = `state:${name}`

  return {
    async mint(access: StateAccess) {
      if (per !== 'handle') throw new Error(`The state "${name}" is per "${per}" and has no handles: use per: "handle"`)
      requireScopes(access)
      return access.createId(purpose, Number(ttl))
    },

    open(access: StateAccess, handle?: string) {
      requireScopes(access)
      const place = per === 'handle' ? () => handled(access, handle) : scoped(name, per, allEndpoints, access)
      const call = async (operation: string, args: unknown[]) => {
        const { object, expires } = await place()
        return run(access, object, { state: name, operation, args, expires })
      }
      return {
        ...Object.fromEntries(names.map((operation) => [operation, (...args: unknown[]) => call(operation, args)])),
        async deleteAll() {
          const { object, expires } = await place()
          await access.object(object).deleteAll(per === 'handle' ? expires : undefined)
        },
      }
    },
  }

  /** @throws McpError `insufficient_scope` */
  function requireScopes({ principal }: StateAccess): void {
    const lacked = scopes.filter((scope) => !principal?.scopes.includes(scope))
    if (lacked.length === 0) return
    throw new McpError('insufficient_scope', `The state "${name}" requires the scopes ${scopes.join(' ')}`, { scopes })
  }

  /** @throws McpError `invalid_handle`, the same for unknown, expired and foreign handles */
  async function handled(access: StateAccess, handle: unknown): Promise<Place> {
    const isHandle = typeof handle === 'string' && handle.length <= bounds.handleCharacters
    // Ids only are made for this purpose.
    const opened = isHandle ? ((await access.open(purpose, handle)) as OpenedId | undefined) : undefined
    if (!opened) throw unknownHandle(name)
    return { object: JSON.stringify([name, per, opened.name]), expires: opened.expires }
  }
}

/** Runs an operation in the Durable Object of the state. @throws the error of the operation */
async function run(access: StateAccess, object: string, call: StateCall): Promise<unknown> {
  const answer = await access.object(object).run(call)
  if ('value' in answer) return answer.value
  if ('gone' in answer) throw unknownHandle(call.state)
  const { kind, message, data, stack } = answer.thrown
  throw kind ? new McpError(kind, message, data) : Object.assign(new Error(message), { stack })
}

type Place = { object: string; expires: number | undefined }

/** Returns the place of the state that belongs to a call. */
function scoped(name: string, per: Exclude<StateOwner, 'handle'>, isShared: boolean, access: StateAccess): () => Place {
  const object = (...owner: string[]) => JSON.stringify([name, per, ...owner])
  const { principal, session, identity } = access
  const owned = (owner: Owner) => () => ({
    object: object(ownerKey(owner, isShared ? undefined : identity)),
    expires: undefined,
  })
  switch (per) {
    case 'session': {
      if (!session) {
        throw lacks(name, 'this client has no session: use per: "user", or per: "handle" and pass the handle around')
      }
      const place = { object: object(session.name), expires: session.expires }
      return () => {
        session.addStateObject(place.object)
        return place
      }
    }
    case 'user':
      if (!principal) throw lacks(name, 'the caller is anonymous: give serve() an auth, or use per: "handle"')
      return owned(principal)
    case 'tenant': {
      if (!principal?.tenant) throw lacks(name, 'the principal has no tenant: let auth return one, or use per: "user"')
      const { issuer, tenant } = principal
      return owned({ issuer, tenant })
    }
  }
}

const lacks = (name: string, reason: string) => new DeveloperError(`The state "${name}" is not available: ${reason}`)

const unknownHandle = (name: string) =>
  new McpError('invalid_handle', `This handle of the state "${name}" is unknown or expired: get a new one`)

function keyValue(store: Store<Values>) {
  return {
    get: (key: string) => store.get(key),
    put: (key: string, value: unknown) => store.put(key, value),
    delete: (key: string) => store.delete(key),
    entries: () => store.entries(),
  }
}

function checkLife(name: string, per: unknown, ttl: unknown): void {
  const isTime = typeof ttl === 'number' && ttl > 0
  switch (per) {
    case 'session':
      if (ttl !== undefined) throw new Error(`The state "${name}" is per session and ends with it: remove ttl`)
      return
    case 'user':
    case 'tenant':
      if (!isTime) {
        throw new Error(`The state "${name}" needs a ttl: how long to keep it after its last use, or Infinity`)
      }
      return
    case 'handle':
      if (!isTime || ttl === Number.POSITIVE_INFINITY) {
        throw new Error(`The state "${name}" needs a ttl: how long its handles are valid`)
      }
      return
    default:
      throw new Error(`The state "${name}" is per ${preview(per)}: use per: "session", "user", "tenant" or "handle"`)
  }
}

/** Returns the names of the operations, without a store. */
function namesOf(name: string, operations: (store: Store) => object): string[] {
  // The proxy answers for every member.
  const nowhere = new Proxy({} as Store, {
    get() {
      throw new Error(
        `The state "${name}" uses its store outside an operation: use it inside operations only, because it does not exist at startup`,
      )
    },
  })
  const returned: unknown = operations(nowhere)
  checkValue('state()', 'operations', returned, [kind.functions[0], `a function that returns ${kind.functions[1]}`])
  const names = Object.keys(Object(returned))
  for (const reserved of ['deleteAll', 'then']) {
    if (names.includes(reserved))
      throw new Error(`The state "${name}" cannot have an operation "${reserved}": rename it`)
  }
  return names
}
