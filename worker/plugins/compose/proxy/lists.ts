import type { Method, MethodContext } from '../../../engine/methods/method.ts'
import { McpError } from '../../../protocol/errors.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import type { Params, Result } from '../../../protocol/types.ts'
import { canonicalTemplate, canonicalUri } from '../../../protocol/uri.ts'
import { type List, lists, notFound, type Proxied } from './proxied.ts'

/** A list of this server, and on its last page what those behind it have that it does not. */
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

/** What one of them has; nothing when it does not answer: what others have is not missed for it. */
function entriesOf(proxied: Proxied, context: MethodContext, list: List): Promise<Params[] | undefined> {
  return permittedEntries(proxied, context, list).catch((problem) => {
    if (!(problem instanceof McpError)) throw problem
    context.environment.report(problem)
    return []
  })
}

/** The entries that the caller has the scopes for. */
async function permittedEntries(proxied: Proxied, context: MethodContext, list: List): Promise<Params[] | undefined> {
  const { kind, id } = lists[list]
  const entries = await proxied.list(context, list)
  return entries?.filter((entry) => proxied.lacked(context, kind, spelled(id, String(entry[id]))).length === 0)
}

/** Scopes of resources are decided for one spelling of their URIs. */
function spelled(id: (typeof lists)[List]['id'], name: string): string {
  if (id === 'name') return name
  return id === 'uri' ? canonicalUri(name) : canonicalTemplate(name)
}
