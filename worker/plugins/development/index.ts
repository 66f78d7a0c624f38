/** Development tools: the inspector, warnings and timings. A deployed bundle contains none of it: see `serve.ts`. */

import type { Declarations } from '../../declarations/declarations.ts'
import type { Interceptor } from '../../declarations/interceptor.ts'
import type { AnyPlugin, Auth, Plugin } from '../../plugin.ts'
import { newestWithSessions } from '../../protocol/revisions/index.ts'
import type { Limiter } from '../../request-hooks.ts'
import { atFirstRequest } from './at-first-request.ts'
import { warnOfCompatibility, warnOfPrivateFetch } from './compatibility.ts'
import { type Guards, warnOfColons, warnOfLimits, warnOfScopes } from './declared-mistakes.ts'
import { type Described, describe } from './described.ts'
import { effectsWatcher } from './effects.ts'
import { exposeStorage } from './expose-storage.ts'
import { mistakesWatcher } from './handler-mistakes.ts'
import { timeHandlers } from './handlers.ts'
import { withInspector } from './inspecting.ts'
import { warnOfMalformedKeys } from './malformed-keys.ts'
import { type RequiredClasses, warnOfMissingClasses } from './missing-classes.ts'
import { warnOfMissingState } from './missing-state.ts'
import { warnOfMissingTasks } from './missing-tasks.ts'
import { withTestUsers } from './users.ts'

export { timed } from './timed.ts'

type Beside = {
  /** Environment with the bindings whose writes are effects. */
  readonly env: object
  /** Exported names of the classes that it needs. */
  readonly names: { readonly session: string; readonly plugins: readonly string[]; readonly state: string }
  /** Returns the limiter of the endpoint, once its plugins are connected. */
  readonly limiter: () => Limiter | undefined
  /** The base class of all Durable Objects. */
  readonly base: { prototype: object }
}

/**
 * Prepares a server that is being served for development.
 *
 * @returns its plugins, with the inspector at `/`, a function that prepares its auth, and what watches its handlers
 */
export function watch<O extends Guards & Described>(
  declarations: Declarations,
  options: O,
  { env, names, base, limiter }: Beside,
): Pick<Declarations, 'instrument'> & { prepareAuth: (auth: Auth) => Auth; plugins: readonly AnyPlugin[] } {
  const { auth, tenants, plugins = [] } = options
  const has = (plugin: string) => plugins.some(({ name }) => name === plugin)
  warnOfCompatibility()
  if (has('events')) warnOfPrivateFetch()
  warnOfMalformedKeys()
  if (!has('sessions')) atFirstRequest(() => announceWithoutSessions(declarations.options.name))
  // Once everything is declared.
  queueMicrotask(() => {
    if (!limiter()) warnOfLimits(declarations)
    warnOfColons(declarations)
  })
  describe(declarations, options, limiter, env)
  exposeStorage(base)
  warnOfMissingState(declarations, limiter, names.state)
  const classes = { session: names.session, plugins: names.plugins }
  return {
    instrument: mistakesWatcher(declarations, env, has('resultStore'), effectsWatcher(env)),
    prepareAuth: (auth) => withTestUsers(auth, env),
    plugins: [
      watching(declarations, has('tasks'), classes),
      ...(auth || tenants ? [] : [scopesWatcher(declarations)]),
      ...withInspector(plugins, env),
    ],
  }
}

/** Says what clients of older versions cannot have. */
function announceWithoutSessions(name: string): void {
  console.warn(
    `edgemcp serves "${name}" without sessions: clients of ${newestWithSessions.date} and older versions get no input requests, no streams of their own and no subscriptions. If they need them, add sessions() of "edgemcp/sessions" to the plugins of serve().`,
  )
}

/** Warns with the first response of the endpoint. */
function scopesWatcher(declarations: Declarations): Plugin {
  let isFirst = true
  return {
    name: 'scopes of development',
    onResponse() {
      if (isFirst) warnOfScopes(declarations)
      isFirst = false
    },
  }
}

/** Checks at the first request, when declarations and exports are known. */
function watching(declarations: Declarations, hasTasks: boolean, classes: RequiredClasses): Plugin {
  let isFirst = true
  const warnAtFirst: Interceptor = (_, next) => {
    if (isFirst) {
      if (!hasTasks) warnOfMissingTasks(declarations)
      warnOfMissingClasses(classes)
    }
    isFirst = false
    return next()
  }
  return {
    name: 'development',
    interceptor: () => (call, next) => warnAtFirst(call, () => timeHandlers(call, next)),
  }
}
