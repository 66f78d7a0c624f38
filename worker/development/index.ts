/** What helps whoever develops a server. A deployment's bundle has nothing of it: see `serve.ts`. */
import type { Registry } from '../server/server.ts'
import { watchEffects } from './effects.ts'
import { warnOfMissingTasks } from './missing-tasks.ts'
import { type Guards, warnOfUnguarded } from './unguarded.ts'

export { warnOfMissingExports } from './missing-exports.ts'

/**
 * Looks over a server that is about to be served, and on while its handlers run.
 *
 * @param env with the bindings whose writes are effects
 */
export function watch(registry: Registry, guards: Guards, env: object): void {
  watchEffects(registry, env)
  warnOfUnguarded(registry, guards)
  warnOfMissingTasks(registry)
}
