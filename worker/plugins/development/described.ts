import type { Declarations } from '../../declarations/declarations.ts'
import type { AnyPlugin } from '../../plugin.ts'
import type { Limiter } from '../../request-hooks.ts'

/** The options of `serve()` that matter outside of the Worker. */
export type Described = {
  readonly auth?: object | undefined
  readonly tenants?: { readonly pattern: string } | undefined
  readonly plugins?: readonly AnyPlugin[]
  readonly path?: string
  readonly origins?: readonly string[]
  readonly hosts?: readonly string[]
  readonly durableObjects?: { readonly names?: Readonly<Record<string, string>> }
}

/** Start of the printed line, which no other line has. */
const mark = 'edgemcp describes itself: '

/**
 * Prints the declarations and options of a server, once all entries are registered, if `EDGEMCP_DESCRIBE` is set. `edgemcp doctor` and
 * `edgemcp submit` read it.
 */
export function describe(
  declarations: Declarations,
  options: Described,
  limiter: () => Limiter | undefined,
  env: object,
): void {
  if (!Reflect.get(env, 'EDGEMCP_DESCRIBE')) return
  queueMicrotask(() => console.log(mark + JSON.stringify(descriptionOf(declarations, options, limiter()))))
}

function descriptionOf(declarations: Declarations, served: Described, limiter: Limiter | undefined) {
  const { options, tools, resources, templates, prompts } = declarations
  const { name, version, title, description, websiteUrl, icons } = options
  const { auth, tenants, plugins = [], path = '/mcp', origins, hosts = [], durableObjects } = served
  const has = (name: string) => plugins.some((plugin) => plugin.name === name)
  const entries = Object.entries({ tool: tools, resource: resources, template: templates, prompt: prompts })
  return {
    name,
    info: { version, title, description, websiteUrl, icons },
    tools: [...tools.values()].map(({ item }) => item),
    apps: [...resources].flatMap(([uri, { item }]) => (uri.startsWith('ui://') ? { uri, _meta: item._meta } : [])),
    extensions: [declarations, ...plugins].flatMap(({ extensions = {} }) => Object.keys(extensions)),
    pluginClasses: plugins.flatMap(({ objects = {} }) => Object.keys(objects)),
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
    has: {
      auth: !!(auth || tenants),
      limit: limiter !== undefined,
      subscriptions: has('subscriptions'),
      page: has('page') || has('inspector'),
      tasks: has('tasks'),
    },
    path: tenants?.pattern.startsWith('/') ? tenants.pattern : path,
    needsState: limiter?.needsState?.(declarations) ?? [],
    sessions: has('sessions'),
    origins,
    hosts,
    names: durableObjects?.names ?? {},
  }
}
