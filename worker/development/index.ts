/** What helps whoever develops a server. A deployment's bundle has nothing of it: see `serve.ts`. */
import type { Registry } from '../server/server.ts'
import { type Described, describe } from './described.ts'
import { effectsWatch } from './effects.ts'
import { watchHandlers } from './handlers.ts'
import type { Names } from './inside.ts'
import { inspecting, type Page } from './inspecting.ts'
import { warnOfMissingExports } from './missing-exports.ts'
import { warnOfMissingTasks } from './missing-tasks.ts'
import { tellRows } from './rows.ts'
import { type Guards, warnOfUnguarded } from './unguarded.ts'

export { timed } from './timed.ts'

type Beside = {
  /** With the bindings whose writes are effects. */
  readonly env: object
  /** Of the classes that it needs. */
  readonly names: Names & { readonly session: string }
  /** The class of all Durable Objects. */
  readonly base: { prototype: object }
}

/**
 * Looks over a server that is about to be served, and on while its handlers run.
 *
 * @returns the options to serve it with: the inspector is its page
 */
export function watch<O extends Guards & Described & { page?: Page }>(
  registry: Registry,
  options: O,
  { env, names, base }: Beside,
): O {
  warnOfUnguarded(registry, options)
  describe(registry, options, env)
  tellRows(base)
  const watch = watchHandlers(effectsWatch(registry, env))
  const { watch: before } = registry
  let looked = false
  // What is declared and exported is known when somebody calls.
  registry.watch = (call, context) => {
    if (!looked) {
      warnOfMissingTasks(registry)
      if (options.sessions !== false) warnOfMissingExports([names.session, names.updates])
    }
    looked = true
    const outer = before?.(call, context)
    const inner = watch(call, outer?.context ?? context)
    if (!outer || !inner) return inner ?? outer
    return {
      context: inner.context,
      late: outer.late,
      end(came) {
        inner.end(came)
        outer.end(came)
      },
    }
  }
  return { ...options, page: inspecting(options.page, names) }
}
