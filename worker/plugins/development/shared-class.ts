import type { Declarations } from '../../declarations/declarations.ts'
import type { AnyPlugin } from '../../plugin.ts'
import { migrationFor } from './migration.ts'

/** The first server that was served with each session class. */
const owners = new Map<string, { readonly declarations: Declarations; readonly path: string }>()

/**
 * Warns if another server was served with the same session class. The class runs the handlers of one server only, so requests of the other
 * server's sessions are rejected.
 */
export function warnOfSharedClass(
  declarations: Declarations,
  { path = '/mcp', plugins = [] }: { readonly path?: string; readonly plugins?: readonly AnyPlugin[] },
  className: string,
): void {
  const owner = owners.get(className)
  if (!owner) return void owners.set(className, { declarations, path })
  const { name } = declarations.options
  const first = owner.declarations.options.name
  // An endpoint that is made on demand may be made again.
  if (owner.declarations === declarations || (first === name && owner.path === path)) return
  const own = ownClasses(
    name,
    plugins.flatMap(({ objects = {} }) => Object.keys(objects)),
  )
  const renamed = Object.entries(own)
    .map(([usual, name]) => `${usual}: ${name}`)
    .join(', ')
  console.warn(
    `edgemcp serves "${first}" and "${name}" with one session class, ${className}, which belongs to one of them: session requests to the other fail. ` +
      `Give the second serve() the option\n\ndurableObjects: { names: { ${renamed.replace(/: (\w+)/g, ": '$1'")} } }\n\n` +
      'export its classes, where worker is the result of that serve()\n\n' +
      `export const { ${renamed} } = worker\n\nand ${migrationFor(Object.values(own))}`,
  )
}

/** Returns names for classes of a server, made of its name. @param classes of its plugins, by their default names */
export function ownClasses(serverName: string, classes: readonly string[]): Readonly<Record<string, string>> {
  const words = serverName.replace(/^[^a-z]+/i, '').split(/[^a-z\d]+/i)
  const prefix = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('') || 'Other'
  return Object.fromEntries(classes.map((name) => [name, prefix + name.replace(/^Mcp/, '')]))
}
