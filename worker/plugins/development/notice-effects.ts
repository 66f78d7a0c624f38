/** Records calls and writes outside of the Worker, for development. */
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Called } from './trace.ts'

/** An effect, described in the terms of the developer. */
export type Effect = {
  /** The call, such as `env.NOTES.put(…)`. */
  readonly call: string
  /** A key for `once`, and code whose result can be stored. */
  readonly key: string
  readonly work: string
}

/** @param from the function that was called */
export type Notice = (effect: Effect, from: Called) => void

/** Methods that write, by the class of a binding. */
const writes: Readonly<Record<string, readonly string[]>> = {
  KvNamespace: ['put', 'delete'],
  R2Bucket: ['put', 'delete'],
  D1Database: ['exec', 'batch'],
  WorkerQueue: ['send', 'sendBatch'],
}

/** Reports `fetch`, and writes through the bindings of `env` and the caches, in the whole isolate. */
export function noticeEffects(env: object, notice: Notice): void {
  const fetched = { call: 'fetch(…)', key: 'fetch', work: 'async () => (await fetch(…)).json()' }
  replace(globalThis, 'fetch', () => fetched, notice)
  // The types of the platform declare the class and not the global.
  const caches = (globalThis as { Cache?: { prototype: object } }).Cache?.prototype
  if (caches) for (const name of ['put', 'delete']) replace(caches, name, () => written('cache', name), notice)

  const replaced = new Set<object>()
  for (const binding of Object.values(env)) {
    const kind = Object.getPrototypeOf(Object(binding))
    const methods = writes[kind?.constructor?.name] ?? []
    if (methods.length === 0 || replaced.has(kind)) continue
    replaced.add(kind)
    const isDatabase = kind.constructor.name === 'D1Database'
    for (const name of methods) {
      const describe = (self: unknown, [argument]: unknown[]) =>
        isDatabase && isReading(argument) ? undefined : written(`env.${nameOf(self)}`, name)
      replace(kind, name, describe, notice)
    }
    // Its class has the name of the platform's.
    if (isDatabase) noticeStatements(binding as Database, nameOf, notice)
  }

  function nameOf(binding: unknown): string {
    return Object.entries(env).find(([, value]) => value === binding)?.[0] ?? '…'
  }
}

const written = (owner: string, name: string): Effect => {
  const call = `${owner}.${name}(…)`
  return { call, key: name, work: `() => ${call}` }
}

type Database = { prepare(query: string): object; withSession?(): object }

/** Reports the statements of a database, or of a session of one. */
function noticeStatements(database: Database, nameOf: (binding: unknown) => string, notice: Notice): void {
  const owner = `env.${nameOf(database)}`
  const session = database.withSession?.()
  if (session) {
    replace(
      Object.getPrototypeOf(session),
      'batch',
      (_, [statements]) => (isReading(statements) ? undefined : written(`${owner}.withSession()`, 'batch')),
      notice,
    )
  }
  for (const name of ['run', 'all', 'first', 'raw']) {
    replace(
      Object.getPrototypeOf(database.prepare('SELECT 1')),
      name,
      (self) => (isReading([self]) ? undefined : written(`${owner}.prepare(…)`, name)),
      notice,
    )
  }
}

/** Whether a query, or a statement of one, only reads. */
function isReading(queries: unknown): boolean {
  return [queries].flat().every((query) => {
    const text = typeof query === 'string' ? query : isObject(query) ? query.statement : undefined
    const code = String(text).replace(/'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|--.*|\/\*[\s\S]*?\*\//g, ' ')
    return !/\b(?:insert|update|delete|replace\s+into|create|alter|drop)\b/i.test(code)
  })
}

/** Whether an effect is running that may consist of others. */
let isInside = false

/** Replaces a method by one that does the same, and reports it. */
function replace(
  owner: object,
  name: string,
  describe: (self: unknown, args: unknown[]) => Effect | undefined,
  notice: Notice,
): void {
  // The platform's own may be inherited.
  while (!Object.hasOwn(owner, name)) {
    owner = Object.getPrototypeOf(owner)
    if (!owner) return
  }
  const property = Object.getOwnPropertyDescriptor(owner, name)
  if (typeof property?.value !== 'function') return
  function apply(method: Called, self: unknown, args: unknown[]): unknown {
    if (isInside) return Reflect.apply(method, self, args)
    const effect = describe(self, args)
    if (effect) notice(effect, apply)
    isInside = true
    try {
      return Reflect.apply(method, self, args)
    } finally {
      isInside = false
    }
  }
  Reflect.defineProperty(owner, name, { ...property, value: new Proxy(property.value, { apply }) })
}
