/** Notes which members of `env` a handler reads that are not there, so that an error about `undefined` can name them. */

/** The names that were read while each running handler runs. */
const running = new Set<Set<string>>()

const watched = new WeakSet<object>()

/** Starts to collect names. @returns them, and what ends the collection */
export function collectMissingBindings(): { readonly names: ReadonlySet<string>; end(): void } {
  const names = new Set<string>()
  running.add(names)
  return { names, end: () => void running.delete(names) }
}

/** @param env as the platform gives it to `fetch`: that of `cloudflare:workers` reads it */
export function watchBindings(env: unknown): void {
  if (typeof env !== 'object' || env === null || watched.has(env)) return
  watched.add(env)
  // A member that is there is found before its prototype is asked.
  const prototype = new Proxy(Object.prototype, {
    get(target, name, receiver) {
      const isBinding = typeof name === 'string' && !(name in target) && !ownReads.test(name)
      if (isBinding) for (const names of running) names.add(name)
      return Reflect.get(target, name, receiver)
    },
  })
  Reflect.setPrototypeOf(env, prototype)
}

/** What edgemcp, `await` and JSON read. */
const ownReads = /^(?:EDGEMCP_|then$|toJSON$)/

/** Tables of wrangler.toml, by a method of their bindings. */
const tables: readonly (readonly [methods: RegExp, tables: string])[] = [
  [/^(?:prepare|exec|batch|withSession)$/, '[[d1_databases]]'],
  [/^(?:head|createMultipartUpload)$/, '[[r2_buckets]]'],
  [/^(?:get|put|list|delete|getWithMetadata)$/, '[[kv_namespaces]] or [[r2_buckets]]'],
  [/^send(?:Batch)?$/, '[[queues.producers]]'],
  [/^(?:getByName|idFromName|idFromString|newUniqueId)$/, '[[durable_objects.bindings]]'],
  [/^create(?:Batch)?$/, '[[workflows]]'],
  [/^writeDataPoint$/, '[[analytics_engine_datasets]]'],
  [/^run$/, '[ai]'],
  [/^fetch$/, '[[services]]'],
]

/** Where to declare what was read, as far as the error shows what it is. */
export function whereToDeclare(names: ReadonlySet<string>, message: string): string {
  const [name] = names
  const [, method = ''] = /\(reading '(\w+)'\)/.exec(message) ?? []
  const table = tables.find(([methods]) => methods.test(method))?.[1]
  return table && names.size === 1
    ? `in ${table} of wrangler.toml, with binding = "${name}"`
    : 'in wrangler.toml, as a binding or in [vars]; secrets of this machine are in .dev.vars'
}
