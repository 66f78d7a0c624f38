/** What helps whoever develops a server. A deployment's bundle has nothing of it: see `serve.ts`. */
import type { Registry } from '../server/server.ts'
import { type Described, describe } from './described.ts'
import { watchEffects } from './effects.ts'
import { timeHandlers } from './handlers.ts'
import { inspecting, type Page } from './inspecting.ts'
import { warnOfMalformedKeys } from './malformed-keys.ts'
import { warnOfMissingExports } from './missing-exports.ts'
import { type Counting, warnOfMissingState } from './missing-state.ts'
import { warnOfMissingTasks } from './missing-tasks.ts'
import { warnOfOldDate } from './old-date.ts'
import { exposeStorage } from './rows.ts'
import { warnOfSharedClass } from './shared-class.ts'
import { type Guards, warnOfUnguarded } from './unguarded.ts'
import { withMadeUp } from './users.ts'

export { timed } from './timed.ts'

type Beside = {
  /** With the bindings whose writes are effects. */
  readonly env: object
  /** Of the classes that it needs. */
  readonly names: { readonly session: string; readonly updates: string; readonly state: string }
  /** The class of all Durable Objects. */
  readonly base: { prototype: object }
}

const watched = new WeakSet<Registry>()

/**
 * Looks over a server that is about to be served, and on while its handlers run.
 *
 * @returns the options to serve it with: the inspector is its page
 */
export function watch<O extends Guards & Described & { limit?: Counting; page?: Page }>(
  registry: Registry,
  options: O,
  { env, names, base }: Beside,
): O {
  warnOfOldDate()
  warnOfMalformedKeys()
  if (options.sessions !== false) warnOfSharedClass(registry, names.session, options.path ?? '/mcp')
  warnOfUnguarded(registry, options)
  describe(registry, options, env)
  exposeStorage(base)
  warnOfMissingState(registry, options.limit, names.state)
  // It may be served at several addresses.
  if (!watched.has(registry)) {
    watched.add(registry)
    warnAtFirst(registry, options.sessions === false ? [] : [names.session, names.updates])
    watchEffects(registry, env)
    registry.interceptors.unshift(timeHandlers)
  }
  const { auth } = options
  return { ...options, page: inspecting(options.page, env, auth), auth: auth && withMadeUp(auth, env) }
}

/** What is declared and exported is known when somebody calls. */
function warnAtFirst(registry: Registry, classes: readonly string[]): void {
  let isFirst = true
  registry.interceptors.unshift((_, next) => {
    if (isFirst) {
      warnOfMissingTasks(registry)
      warnOfMissingExports(classes)
    }
    isFirst = false
    return next()
  })
}
