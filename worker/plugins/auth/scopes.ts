import type { Server } from '../../declarations/server.ts'

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

function declared({ registry: { tools, resources, templates, prompts, forwarded } }: Server) {
  const of = (word: string, entries: Iterable<[string, { readonly scopes?: readonly string[] | undefined }]>) =>
    [...entries].map(([name, { scopes }]) => ({ what: `the ${word} "${name}"`, scopes }))
  return [
    ...of('tool', tools),
    ...of('resource', resources),
    ...of('resource', templates),
    ...of('prompt', prompts),
    ...forwarded,
  ]
}

/** How much a server declares, so that what is declared later is noticed: nothing is taken back. */
export const countDeclared = ({ registry: { tools, resources, templates, prompts, forwarded } }: Server): number =>
  tools.size + resources.size + templates.size + prompts.size + forwarded.length
