import type { Declarations } from '../../declarations/declarations.ts'
import type { Server } from '../../declarations/server.ts'
import { declaredMethod, methods as protocolMethods } from '../../engine/methods/index.ts'

/** Every scope that something of a server takes. */
export const declaredScopes = (server: Server): readonly string[] => [
  ...new Set(declared(server).flatMap(({ scopes = [] }) => scopes)),
]

/**
 * What says nothing of who may use it, for a test or a check of one's own. `scopes: []` says something: whoever is let in.
 *
 * @returns such as `the tool "add"`
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
    ...of('method', extraMethods(methods)),
  ]
}

/** Methods of extensions and plugins. Those of the protocol take the scopes of what a request names. */
const extraMethods = (methods: Declarations['methods']) =>
  [...methods.keys()].flatMap((name) => {
    if (Object.hasOwn(protocolMethods, name)) return []
    const method = declaredMethod({ methods }, name)
    // The scopes of a handle are those of what made it.
    return [[name, { scopes: method?.requiredScopes ?? (method?.scopes && []) }] as const]
  })

/** How much a server declares, so that what is declared later is noticed: nothing is taken back. */
export const countDeclared = ({
  declarations: { tools, resources, templates, prompts, forwarded, methods },
}: Server): number => methods.size + tools.size + resources.size + templates.size + prompts.size + forwarded.length
