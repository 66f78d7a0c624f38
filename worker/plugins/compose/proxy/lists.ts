import { leavingOut } from '../../../engine/failure.ts'
import { isVisible } from '../../../engine/methods/lists.ts'
import type { Method, MethodContext } from '../../../engine/methods/method.ts'
import { McpError } from '../../../protocol/errors.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import type { Params, Result } from '../../../protocol/types.ts'
import { canonicalTemplate, canonicalUri } from '../../../protocol/uri.ts'
import { OptionError } from './option-error.ts'
import { type List, lists, notFound, type Proxied } from './proxied.ts'

/** Returns a page of a list. The last page also contains the entries of upstreams that this server lacks. */
export async function listed(
  context: MethodContext,
  ownMethod: Method,
  list: List,
  proxies: readonly Proxied[],
): Promise<Result> {
  const { member, id } = lists[list]
  const isOwn = ownMethod.offered(context.server.declarations, context.environment)
  const first: Result = isOwn ? await ownMethod.answer(context) : { [member]: [] }
  if (first.nextCursor !== undefined) return first
  const others = await Promise.all(proxies.map((proxied) => entriesOf(proxied, context, list)))
  if (!isOwn && others.every((entries) => !entries)) throw notFound(list)
  const own = first[member]
  const entries = new Map<unknown, Params>()
  for (const entry of [Array.isArray(own) ? own.filter(isObject) : [], ...others].flatMap((all) => all ?? [])) {
    if (!entries.has(entry[id])) entries.set(entry[id], entry)
  }
  return { ...first, [member]: [...entries.values()], ttlMs: 0, cacheScope: 'private' }
}

/**
 * Returns the entries of one upstream. If it does not respond, or the option `headers` throws an error, its entries are omitted, so that the
 * list contains those of others.
 */
function entriesOf(proxied: Proxied, context: MethodContext, list: List): Promise<Params[] | undefined> {
  return permittedEntries(proxied, context, list).catch((problem) => {
    if (!(problem instanceof McpError || problem instanceof OptionError)) throw problem
    context.environment.report(problem)
    return []
  })
}

/** Returns the entries whose scopes the caller has. */
async function permittedEntries(proxied: Proxied, context: MethodContext, list: List): Promise<Params[] | undefined> {
  const { kind, id } = lists[list]
  const entries = await proxied.list(context, list)
  // Other scopes are the same for each spelling, and a list is long.
  const nameOf = (name: string) => (proxied.access.hasScopesByName ? spelled(id, name) : name)
  const permitted = entries?.filter(
    (entry) => proxied.access.lacked(context, kind, nameOf(String(entry[id]))).length === 0,
  )
  if (!permitted || proxied.access.guarded.size === 0 || kind !== 'tool') return permitted
  const seen = await Promise.all(
    permitted.map((entry) =>
      isVisible(proxied.access.guarded.get(String(entry.name)) ?? {}, context).catch(leavingOut(context)),
    ),
  )
  return permitted.filter((_, index) => seen[index])
}

/** Returns the spelling of a URI by which its scopes are decided. */
function spelled(id: (typeof lists)[List]['id'], name: string): string {
  if (id === 'name') return name
  return id === 'uri' ? canonicalUri(name) : canonicalTemplate(name)
}
