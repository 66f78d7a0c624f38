/** What is asked for by a name or a URI: here, if it is declared here, and else at a server behind this one. */

import { uncached } from '../../engine/methods/lists.ts'
import { type Asked, type Method, readObject, readText } from '../../engine/methods/method.ts'
import { findResource, readUri } from '../../engine/methods/resources.ts'
import { insufficientScope } from '../../engine/scopes.ts'
import { type ErrorKind, McpError } from '../../protocol/errors.ts'
import type { Result } from '../../protocol/types.ts'
import { canonicalTemplate, canonicalUri } from '../../protocol/uri.ts'
import type { ForwardedEntry } from '../../server/forwarded.ts'
import { besides } from './capabilities.ts'
import { type Feature, notFound, type Proxied } from './proxied.ts'
import { relayed } from './rounds.ts'
import { holdersOf, ownerOf } from './whose.ts'

export const callTool = async (asked: Asked, own: Method, proxies: readonly Proxied[]): Promise<Result> => {
  const { name } = asked.call.params
  const isOwn = typeof name !== 'string' || asked.server.registry.tools.has(name)
  const owner = isOwn ? undefined : await ownerOf(asked, 'tools/list', name, permittedFor(asked, 'tool', name, proxies))
  if (!owner) return here(asked, own, proxies, 'tools')
  return relayed(asked, owner, { name: inside(owner, name as string) }).catch((thrown) => told(asked, thrown))
}

export const getPrompt = async (asked: Asked, own: Method, proxies: readonly Proxied[]): Promise<Result> => {
  const { name } = asked.call.params
  const isOwn = typeof name !== 'string' || asked.server.registry.prompts.has(name)
  const owner = isOwn
    ? undefined
    : await ownerOf(asked, 'prompts/list', name, permittedFor(asked, 'prompt', name, proxies))
  if (!owner) return here(asked, own, proxies, 'prompts')
  return relayed(asked, owner, { name: inside(owner, name as string) })
}

export const readResource = async (asked: Asked, own: Method, proxies: readonly Proxied[]): Promise<Result> => {
  const uri = readUri(readText(asked.call.params, 'uri'))
  if (findResource(asked.server.registry, uri)) return own.answer(asked)
  let problem: McpError | undefined
  // Scopes are decided for this spelling, so no other one may be sent.
  const canonical = canonicalUri(uri)
  const permitted = permittedFor(asked, 'resource', canonical, proxies)
  for (const [turn, holder] of (await holdersOf(asked, canonical, permitted)).entries()) {
    try {
      const sent = { uri: await holder.spellingOf(asked, canonical, uri) }
      const result = { ...uncached, ...(await relayed(asked, holder, sent, turn)) }
      // The upstream says "public" for all who have this server's access there, not for all who may ask here.
      return holder.isOpen(asked, 'resource', canonical) ? result : { ...result, cacheScope: 'private' }
    } catch (thrown) {
      if (!(thrown instanceof McpError && passedOver.has(thrown.kind))) throw thrown
      // One that does not answer, or not this caller, might have it.
      if (!problem || problem.kind === 'resource_not_found') problem = thrown
    }
  }
  if (problem) throw problem
  return here(asked, own, proxies, 'resources')
}

/**
 * The upstreams that can have something, as far as the caller has its scopes.
 *
 * @throws McpError `insufficient_scope` when the caller lacks the scopes of all that can have it
 */
function permittedFor(
  asked: Asked,
  kind: ForwardedEntry['kind'],
  name: string,
  proxies: readonly Proxied[],
): readonly Proxied[] {
  const fitting = kind === 'resource' ? proxies : proxies.filter(({ prefix }) => name.startsWith(prefix))
  const lacked = fitting.map((proxied) => proxied.lacked(asked, kind, name))
  const permitted = fitting.filter((_, index) => lacked[index]?.length === 0)
  if (permitted.length === 0 && lacked[0]) throw insufficientScope(lacked[0])
  return permitted
}

/** What another server may be asked after. */
const passedOver = new Set<ErrorKind>(['resource_not_found', 'unavailable', 'internal_error'])

export const complete = async (asked: Asked, own: Method, proxies: readonly Proxied[]): Promise<Result> => {
  const { registry } = asked.server
  const ref = readObject(asked.call.params, 'ref')
  const owner = await referred()
  if (!owner) return here(asked, own, proxies, 'completions')
  if (!(await owner.offers(asked, 'completions'))) return { completion: { values: [], hasMore: false } }
  return relayed(asked, owner, {
    ref:
      ref.type === 'ref/prompt'
        ? { ...ref, name: inside(owner, ref.name as string) }
        : { ...ref, uri: canonicalTemplate(ref.uri as string) },
  })

  async function referred(): Promise<Proxied | undefined> {
    const { type, name, uri } = ref
    if (type === 'ref/prompt' && typeof name === 'string' && !registry.prompts.has(name)) {
      return ownerOf(asked, 'prompts/list', name, permittedFor(asked, 'prompt', name, proxies))
    }
    if (type !== 'ref/resource' || typeof uri !== 'string') return undefined
    if (registry.templates.has(uri) || findResource(registry, uri)) return undefined
    const canonical = canonicalTemplate(uri)
    return (await holdersOf(asked, canonical, permittedFor(asked, 'resource', canonical, proxies)))[0]
  }
}

/** Its own answer, though it be that there is no such thing. @throws McpError `method_not_found` when nobody offers any */
async function here(asked: Asked, own: Method, proxies: readonly Proxied[], feature: Feature): Promise<Result> {
  const { registry } = asked.server
  const isOwn = own.offered(registry, asked.world)
  if (!isOwn && !(await besides(registry, proxies, asked.call.principal))[feature]) throw notFound(asked.call.method)
  return own.answer(asked)
}

const inside = ({ prefix }: Proxied, name: string): string => name.slice(prefix.length)

/** The model gets an error when its client refuses an input request, or in a session cannot be asked, as with tools that are declared here. */
function told({ call }: Asked, thrown: unknown): Result {
  const kind = thrown instanceof McpError ? thrown.kind : undefined
  const isTold = kind === 'client_refused' || (kind === 'missing_client_capability' && !call.revision.stateless)
  if (!isTold) throw thrown
  return { content: [{ type: 'text', text: (thrown as McpError).message }], isError: true } // it has a kind
}
