import type { Registry } from '../server/server.ts'
import type { Counting } from './missing-state.ts'
import { ownClasses } from './shared-class.ts'

/** How a server is served, as far as it matters to whoever looks at it from outside. */
export type Described = {
  readonly auth?: object | undefined
  readonly limit?: Counting | undefined
  readonly updates?: object | undefined
  readonly path?: string
  readonly page?: unknown
  readonly sessions?: object | false
  readonly origins?: readonly string[]
  readonly hosts?: readonly string[]
  readonly objects?: Readonly<Record<string, string>>
}

/** Before the description: a line that nobody else prints. */
const mark = 'edgemcp describes itself: '

/** Prints what a server is, once everything is declared, where `EDGEMCP_DESCRIBE` asks for it: `edgemcp doctor` reads it. */
export function describe(registry: Registry, options: Described, env: object): void {
  if (!(env as { EDGEMCP_DESCRIBE?: unknown }).EDGEMCP_DESCRIBE) return
  queueMicrotask(() => console.log(mark + JSON.stringify(descriptionOf(registry, options))))
}

function descriptionOf(registry: Registry, served: Described) {
  const { options, tools, resources, templates, prompts, methods } = registry
  const { auth, limit, updates, path = '/mcp', page, sessions, origins, hosts = [], objects = {} } = served
  const entries = Object.entries({ tool: tools, resource: resources, template: templates, prompt: prompts })
  return {
    name: options.name,
    ownClasses: ownClasses(options.name),
    entries: entries.flatMap(([kind, declared]) =>
      [...declared].map(([name, entry]) => ({
        kind: kind === 'template' ? 'resource' : kind,
        name,
        scopes: entry.scopes,
        canBeDisabled: entry.enabled !== undefined,
        isLimited: entry.rateLimit !== undefined,
        isTask: 'task' in entry && !!entry.task,
      })),
    ),
    has: { auth: !!auth, limit: !!limit, updates: !!updates, page: !!page, tasks: methods.has('tasks/get') },
    path,
    needsState: limit?.needsState?.(registry) ?? [],
    sessions: sessions !== false,
    origins,
    hosts,
    objects,
  }
}
