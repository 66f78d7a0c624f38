import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { HandleState, KeyedState, StateAccess, StateCall } from '../../declarations/state.ts'
import { declare, type Operations, type StateOwner, type Store } from '../../declarations/state-declaration.ts'
import { bounds } from '../../protocol/bounds.ts'
import { McpError } from '../../protocol/errors.ts'

type Common = {
  /** What a token must allow to reach it, all of them: a call without them ends with an error that the model can read. */
  scopes?: readonly string[]
  /**
   * Statements that make its tables. Each is run once, before the first operation that needs it: to change a table later,
   * add statements at the end.
   */
  tables?: readonly string[]
}

/** Of the session: gone with it. */
export type SessionStateOptions = Common & { per: 'session'; ttl?: undefined }

/**
 * State of a user, or of a tenant: the same from every client, session and revision. A user who acts for several tenants has
 * separate state in each of them.
 */
export type UserStateOptions = Common & {
  per: 'user' | 'tenant'
  /** Milliseconds after its last use at which it is deleted; `Infinity` keeps it until `deleteAll()`. */
  ttl: number
}

/** Found by a handle, which is an ordinary text: a result of one tool and an argument of another. */
export type HandleStateOptions = Common & {
  per: 'handle'
  /** Milliseconds after the handle was made at which it is worth nothing, and its state is deleted. */
  ttl: number
}

/** Operations as they are called: each is one request to the object that keeps the state, and one transaction in it. */
export type StateStub<O> = {
  readonly [K in keyof O]: O[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<R> : never
} & Deletable

export interface Deletable {
  /** Deletes everything, now. */
  deleteAll(): Promise<void>
}

/** What may be done with a state that declares no operations of its own. */
export interface KeyValue<V extends object> extends Deletable {
  get<K extends keyof V & string>(key: K): Promise<V[K] | undefined>
  put<K extends keyof V & string>(key: K, value: V[K]): Promise<void>
  delete(key: keyof V & string): Promise<boolean>
  entries(): Promise<[key: keyof V & string, value: V[keyof V & string]][]>
}

type Values = Record<string, unknown>

const kinds: KindsOf<SessionStateOptions | UserStateOptions | HandleStateOptions> = {
  // Checked by `checkLife`.
  per: kind.anything,
  ttl: kind.anything,
  tables: kind.strings,
  scopes: kind.strings,
}

/**
 * Declares state that outlives a call. Handlers reach it with `ctx.state`.
 *
 * Operations are plain functions that run where the state is. Each is a transaction: what it changes is kept as a whole,
 * or, when it throws, not at all. They are synchronous, and take and return anything that can be cloned.
 *
 * @example
 * const visits = state('visits', { per: 'user', ttl: Infinity }, (store: Store<{ count: number }>) => ({
 *   add() {
 *     const count = (store.get('count') ?? 0) + 1
 *     store.put('count', count)
 *     return count
 *   },
 * }))
 * server.tool('visit', { description: 'Counts' }, async (_, ctx) => `Visit ${await ctx.state(visits).add()}`)
 *
 * @throws Error at start-up, with one sentence that names the fix
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
  checkOptions('state()', options, kinds)
  const { per, ttl, tables = [], scopes = [] } = options
  checkLife(name, per, ttl)
  const lasts = ttl === Number.POSITIVE_INFINITY ? undefined : ttl
  // namesOf() refuses what is no function.
  declare({ name, per, ttl: lasts, tables, operations: operations as (store: Store) => Operations })
  const names = namesOf(name, operations)
  const purpose = `state:${name}`

  return {
    async mint(access: StateAccess) {
      requireScopes(access)
      const lifetimeMs = Number(ttl)
      const expires = Date.now() + lifetimeMs
      return access.seal(purpose, `${expires.toString(36)}.${crypto.randomUUID()}`, lifetimeMs)
    },

    open(access: StateAccess, handle?: string) {
      requireScopes(access)
      const place = per === 'handle' ? () => handled(access, handle) : scoped(name, per, access)
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

  /** @throws McpError `invalid_handle`, for all that are not good here alike */
  async function handled(access: StateAccess, handle: unknown): Promise<Place> {
    const isHandle = typeof handle === 'string' && handle.length <= bounds.handleCharacters
    const opened = isHandle ? await access.open(purpose, handle) : undefined
    if (typeof opened !== 'string') throw unknownHandle(name)
    const expires = Number.parseInt(opened, 36)
    return { object: JSON.stringify([name, per, opened]), expires }
  }
}

/** Runs an operation where the state is. @throws what the operation throws */
async function run(access: StateAccess, object: string, call: StateCall): Promise<unknown> {
  const answer = await access.object(object).run(call)
  if ('value' in answer) return answer.value
  if ('gone' in answer) throw unknownHandle(call.state)
  const { kind, message, data, stack } = answer.thrown
  throw kind ? new McpError(kind, message, data) : Object.assign(new Error(message), { stack })
}

type Place = { object: string; expires: number | undefined }

/** The one state of this declaration that a call may have. */
function scoped(name: string, per: Exclude<StateOwner, 'handle'>, access: StateAccess): () => Place {
  const object = (...owner: string[]) => JSON.stringify([name, per, ...owner])
  const { principal, session } = access
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
      return () => {
        const { issuer, subject, tenant } = principal
        const owner = tenant === undefined ? [issuer, subject] : [issuer, subject, tenant]
        return { object: object(...owner), expires: undefined }
      }
    case 'tenant': {
      const tenant = principal?.tenant
      if (!tenant) throw lacks(name, 'who is signed in has no tenant: let auth say which, or use per: "user"')
      return () => ({ object: object(principal.issuer, tenant), expires: undefined })
    }
  }
}

const lacks = (name: string, reason: string) =>
  new McpError('internal_error', `The state "${name}" cannot be found: ${reason}`)

const unknownHandle = (name: string) =>
  new McpError('invalid_handle', `This handle of "${name}" is unknown or expired: get a new one`)

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
      if (ttl !== undefined) throw new Error(`The state "${name}" is gone with its session: leave out ttl`)
      return
    case 'user':
    case 'tenant':
      if (!isTime) {
        throw new Error(`The state "${name}" needs a ttl: milliseconds after its last use, or Infinity to keep it`)
      }
      return
    case 'handle':
      if (!isTime || ttl === Number.POSITIVE_INFINITY) {
        throw new Error(`The state "${name}" needs a ttl: milliseconds until its handles lapse`)
      }
      return
    default:
      throw new Error(`The state "${name}" is per "${per}": use per: "session", "user", "tenant" or "handle"`)
  }
}

/** The names of the operations, found out without a store. */
function namesOf(name: string, operations: (store: Store) => object): string[] {
  // The proxy answers for every member.
  const nowhere = new Proxy({} as Store, {
    get() {
      throw new Error(`The state "${name}" uses its store outside of an operation: there is none at start-up`)
    },
  })
  const names = Object.keys(operations(nowhere))
  for (const reserved of ['deleteAll', 'then']) {
    if (names.includes(reserved)) throw new Error(`The state "${name}" has an operation "${reserved}": rename it`)
  }
  return names
}
