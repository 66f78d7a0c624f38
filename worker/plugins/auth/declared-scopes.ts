/** The scopes that a server declares. */
import type { Declarations } from '../../declarations/declarations.ts'
import type { Forwarded } from '../../declarations/forwarded.ts'
import type { Server } from '../../declarations/server.ts'
import { declaredMethod, methods as protocolMethods } from '../../engine/methods/index.ts'

/** Returns every scope that an entry of a server requires. */
export const declaredScopes = (server: Server): readonly string[] => [
  ...new Set(declared(server).flatMap(({ scopes = [] }) => scopes)),
]

/**
 * Finds the tools, resources, prompts and methods of a server that do not declare `scopes`, for a test of your own. `scopes: []` counts as
 * declared: it admits every caller that `auth` accepts.
 *
 * @returns descriptions such as `the tool "add"`
 *
 * @example
 * if (findUnscoped(server).length > 0) throw new Error(`Without scopes: ${findUnscoped(server)}`)
 */
export const findUnscoped = (server: Server): string[] =>
  declared(server)
    .filter(({ scopes }) => scopes === undefined)
    .map(({ what }) => what)

function declared({ declarations: { tools, resources, templates, prompts, forwarded, methods } }: Server) {
  const of = (
    word: string,
    entries: Iterable<readonly [string, { readonly scopes?: readonly string[] | undefined }]>,
  ) => [...entries].map(([name, { scopes }]) => ({ what: `the ${word} "${name}"`, scopes }))
  return [
    ...of('tool', tools),
    ...of('resource', resources),
    ...of('resource', templates),
    ...of('prompt', prompts),
    ...forwarded,
    ...of('tool', forwarded.flatMap(scopedTools)),
    ...of('method', extraMethods(methods)),
  ]
}

/** The tools of an upstream that have scopes of their own. */
const scopedTools = ({ guarded }: Forwarded) => [...guarded].filter(([, { scopes }]) => scopes !== undefined)

/** Methods of extensions and plugins. Those of the protocol take the scopes of what a request names. */
const extraMethods = (methods: Declarations['methods']) =>
  [...methods.keys()].flatMap((name) => {
    if (Object.hasOwn(protocolMethods, name)) return []
    const method = declaredMethod({ methods }, name)
    // The scopes of a handle are those of what made it.
    return [[name, { scopes: method?.requiredScopes ?? (method?.scopes && []) }] as const]
  })

/** Counts the entries of a server, to detect later registrations: entries are never removed. */
export const countDeclared = ({
  declarations: { tools, resources, templates, prompts, forwarded, methods },
}: Server): number => methods.size + tools.size + resources.size + templates.size + prompts.size + forwarded.length
