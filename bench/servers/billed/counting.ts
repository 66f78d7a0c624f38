/** Counts what is billed: requests to objects, and their use of storage. */
import type { Tally } from './tally.ts'

export const tally: Tally = { http: 0, requests: 0, messages: 0, rowsRead: 0, rowsWritten: 0, alarmsSet: 0, woken: 0 }
/** A cursor has its counts after it was read. */
const cursors: { rowsRead: number; rowsWritten: number }[] = []

export function tallied(): Tally {
  const sum = (of: 'rowsRead' | 'rowsWritten') => cursors.reduce((total, cursor) => total + cursor[of], tally[of])
  return { ...tally, rowsRead: sum('rowsRead'), rowsWritten: sum('rowsWritten') }
}

type ObjectClass = new (ctx: DurableObjectState, env: never) => object
type Method = (this: unknown, ...args: unknown[]) => unknown

const handlers: Readonly<Record<string, 'requests' | 'messages'>> = {
  fetch: 'requests',
  alarm: 'requests',
  webSocketMessage: 'messages',
}

/**
 * Returns the same class with counting methods.
 *
 * @param called methods that are called over RPC, and never by the object itself
 */
export function counted<C extends ObjectClass>(Base: C, called: readonly string[]): C {
  const Counted = class extends (Base as ObjectClass) {
    constructor(ctx: DurableObjectState, env: never) {
      super(countStorage(ctx), env)
      tally.woken += 1
    }
  }
  for (const name of [...Object.keys(handlers), ...called]) {
    const method = Reflect.get(Base.prototype, name) as Method | undefined
    if (!method) continue
    const value: Method = function (...args) {
      tally[handlers[name] ?? 'requests'] += 1
      return method.apply(this, args)
    }
    Object.defineProperty(Counted.prototype, name, { value, configurable: true })
  }
  return Counted as unknown as C
}

/** A namespace that counts RPC calls of its objects. */
export function countedCalls(namespace: DurableObjectNamespace): DurableObjectNamespace {
  const stubs = new Set(['get', 'getByName'])
  return passing(namespace, (name, method) => {
    if (stubs.has(name)) return (...args) => countedStub(method(...args) as object)
    return name === 'jurisdiction' ? (...args) => countedCalls(method(...args) as DurableObjectNamespace) : method
  })
}

const countedStub = (stub: object) =>
  passing(stub, (name, method) => {
    // The handler of the object counts it.
    if (name === 'fetch') return method
    return (...args) => {
      tally.requests += 1
      return method(...args)
    }
  })

type Called = (...args: unknown[]) => unknown

/** Methods of runtime objects must be called on these objects. */
function passing<T extends object>(native: T, wrap: (name: string, method: Called) => Called): T {
  return new Proxy(native, {
    get(target, property) {
      const value = Reflect.get(target, property) as unknown
      // A method of a stub is not a plain function, but it can be called.
      if (typeof value !== 'function' || typeof property === 'symbol') return value
      return wrap(property, (...args) => Reflect.apply(value as Called, target, args))
    },
  })
}

function countStorage(ctx: DurableObjectState): DurableObjectState {
  const { storage } = ctx
  const sql = passing(storage.sql, (name, method) => {
    if (name !== 'exec') return method
    return (...args) => {
      const cursor = method(...args) as SqlStorageCursor<never>
      cursors.push(cursor)
      return cursor
    }
  })
  // A key that is read counts as a row, and so does a key that is written.
  const keys = (name: string, method: Called): Called => {
    const unit = name === 'get' ? 'rowsRead' : /^(put|delete|setAlarm)$/.test(name) ? 'rowsWritten' : undefined
    if (!unit) return method
    return (...args) => {
      tally[unit] += 1
      if (name === 'setAlarm') tally.alarmsSet += 1
      return method(...args)
    }
  }
  const kv = passing(storage.kv, keys)
  const counted = new Proxy(passing(storage, keys), {
    get: (target, property) => (property === 'sql' ? sql : property === 'kv' ? kv : Reflect.get(target, property)),
  })
  Object.defineProperty(ctx, 'storage', { value: counted, configurable: true })
  return ctx
}

type Server = { fetch(request: Request, env: never, ctx: ExecutionContext): Response | Promise<Response> }

/** The same Worker, which returns the counts at `/counted`. */
export const countedWorker = (server: Server): Server => ({
  async fetch(request, env, ctx) {
    if (new URL(request.url).pathname === '/counted') return Response.json(tallied())
    tally.http += 1
    return server.fetch(request, env, ctx)
  },
})
