/** Answers requests that name an entry: here, if it is registered here, else at an upstream. */

import type { ForwardedEntry } from '../../../declarations/forwarded.ts'
import { isVisible, uncached } from '../../../engine/methods/lists.ts'
import { type Method, type MethodContext, readObject, readText } from '../../../engine/methods/method.ts'
import { findResource, readUri } from '../../../engine/methods/resources.ts'
import { insufficientScope } from '../../../engine/required-scopes.ts'
import { type ErrorKind, McpError, ToolError } from '../../../protocol/errors.ts'
import type { Result } from '../../../protocol/types.ts'
import { canonicalTemplate, canonicalUri } from '../../../protocol/uri.ts'
import { isOffered } from './capabilities.ts'
import { type Destination, otherUpstream, upstreamForName, upstreamsForUri } from './find-upstream.ts'
import { forward } from './forward.ts'
import type { Feature } from './offered.ts'
import { OptionError } from './option-error.ts'
import { notFound, type Proxied } from './proxied.ts'

export const callTool = async (
  context: MethodContext,
  ownMethod: Method,
  proxies: readonly Proxied[],
): Promise<Result> => {
  const upstream = await upstreamFor(context, 'tool', proxies)
  if (!upstream) return answerLocally(context, ownMethod, proxies, 'tools')
  const { destination, name } = upstream
  const result = await forward(context, destination, { name }).catch((thrown) => toToolError(context, thrown))
  return destination.proxied.finish(context, name, result)
}

export const getPrompt = async (
  context: MethodContext,
  ownMethod: Method,
  proxies: readonly Proxied[],
): Promise<Result> => {
  const upstream = await upstreamFor(context, 'prompt', proxies)
  if (!upstream) return answerLocally(context, ownMethod, proxies, 'prompts')
  return forward(context, upstream.destination, { name: upstream.name })
}

/** Returns the upstream that has the tool or prompt of a call, and its name there. `undefined`: this server answers itself. */
async function upstreamFor(
  context: MethodContext,
  kind: 'tool' | 'prompt',
  proxies: readonly Proxied[],
): Promise<{ destination: Destination; name: string } | undefined> {
  const { name } = context.call.params
  const { tools, prompts } = context.server.declarations
  if (typeof name !== 'string' || (kind === 'tool' ? tools : prompts).has(name)) return undefined
  const list = kind === 'tool' ? 'tools/list' : 'prompts/list'
  const visible = kind === 'tool' ? await withVisibleTool(context, name, proxies) : proxies
  const permitted = permittedFor(context, kind, name, visible)
  const destination = await upstreamForName(context, list, name, permitted, proxies)
  if (!destination) return undefined
  const unprefixed = stripPrefix(destination.proxied, name)
  const nameThere = kind === 'prompt' ? unprefixed : destination.proxied.access.toolThere(unprefixed)
  return nameThere === undefined ? undefined : { destination, name: nameThere }
}

/** Returns the upstreams that may have a tool and do not hide it from the caller: the scopes of a hidden tool would reveal it. */
async function withVisibleTool(
  { caller }: MethodContext,
  name: string,
  proxies: readonly Proxied[],
): Promise<readonly Proxied[]> {
  const able = proxies.filter(({ access }) => access.offers('tool', name))
  if (able.every(({ access }) => !access.guarded.get(name)?.visibleTo)) return able
  const visible = await Promise.all(able.map(({ access }) => isVisible(access.guarded.get(name) ?? {}, { caller })))
  return able.filter((_, index) => visible[index])
}

export const readResource = async (
  context: MethodContext,
  ownMethod: Method,
  proxies: readonly Proxied[],
): Promise<Result> => {
  const uri = readUri(readText(context.call.params, 'uri'))
  const isStoredElsewhere = proxies.some(({ access }) => access.uris.hasResult(uri))
  if (!isStoredElsewhere && findResource(context.server.declarations, uri)) return ownMethod.answer(context)
  let problem: McpError | OptionError | undefined
  // The scopes were checked for this spelling, so no other one may be sent.
  const canonical = canonicalUri(uri)
  const permitted = permittedFor(context, 'resource', canonical, proxies)
  let answeredBy: string | undefined
  /** Of several upstreams, the first that answers has all rounds of the call. */
  const onAnswered = async (id: string) => {
    answeredBy ??= await context.context.once('\0answered by', () => id)
    if (answeredBy !== id) throw otherUpstream()
  }
  for (const destination of await upstreamsForUri(context, canonical, permitted, proxies)) {
    const { proxied: holder, id, isSole } = destination
    if (answeredBy !== undefined && answeredBy !== id) continue
    try {
      const spelling = await holder.spellingOf(context, canonical, uri)
      const sent = { uri: holder.access.uris.there(spelling) ?? spelling }
      const result = { ...uncached, ...(await forward(context, destination, sent, isSole ? undefined : onAnswered)) }
      // The upstream says "public" for all clients with this server's access, not for all callers of this server.
      return (await holder.isOpen(context, 'resource', canonical)) ? result : { ...result, cacheScope: 'private' }
    } catch (thrown) {
      if (answeredBy === id || !isPassedOver(thrown)) throw thrown
      // An upstream that does not respond, or rejects this caller, may have it.
      if (!problem || (problem instanceof McpError && problem.kind === 'resource_not_found')) problem = thrown
    }
  }
  if (problem) throw problem
  return answerLocally(context, ownMethod, proxies, 'resources')
}

/**
 * Returns the upstreams that may have an entry, as far as the caller has its scopes.
 *
 * @throws McpError `insufficient_scope` when the caller lacks the scopes of all that may have it
 */
function permittedFor(
  context: MethodContext,
  kind: ForwardedEntry['kind'],
  name: string,
  proxies: readonly Proxied[],
): readonly Proxied[] {
  const fitting = proxies.filter(({ access }) => access.offers(kind, name))
  const lacked = fitting.map((proxied) => proxied.access.lacked(context, kind, name))
  const permitted = fitting.filter((_, index) => lacked[index]?.length === 0)
  if (permitted.length === 0 && lacked[0]) throw insufficientScope(lacked[0])
  return permitted
}

/** Errors after which the next upstream is asked. */
const passedOver = new Set<ErrorKind>(['resource_not_found', 'unavailable', 'internal_error'])
const isPassedOver = (thrown: unknown): thrown is McpError | OptionError =>
  thrown instanceof OptionError || (thrown instanceof McpError && passedOver.has(thrown.kind))

export const complete = async (
  context: MethodContext,
  ownMethod: Method,
  proxies: readonly Proxied[],
): Promise<Result> => {
  const { declarations } = context.server
  const ref = readObject(context.call.params, 'ref')
  const destination = await referred()
  if (!destination) return answerLocally(context, ownMethod, proxies, 'completions')
  const { proxied: owner } = destination
  if (!(await owner.offers(context, 'completions'))) return { completion: { values: [], hasMore: false } }
  return forward(context, destination, {
    ref:
      ref.type === 'ref/prompt'
        ? { ...ref, name: stripPrefix(owner, String(ref.name)) }
        : { ...ref, uri: owner.access.uris.there(canonicalTemplate(String(ref.uri))) ?? ref.uri },
  })

  async function referred(): Promise<Destination | undefined> {
    const { type, name, uri } = ref
    if (type === 'ref/prompt' && typeof name === 'string' && !declarations.prompts.has(name)) {
      return upstreamForName(context, 'prompts/list', name, permittedFor(context, 'prompt', name, proxies), proxies)
    }
    if (type !== 'ref/resource' || typeof uri !== 'string') return undefined
    if (declarations.templates.has(uri) || findResource(declarations, uri)) return undefined
    const canonical = canonicalTemplate(uri)
    const permitted = permittedFor(context, 'resource', canonical, proxies)
    return (await upstreamsForUri(context, canonical, permitted, proxies))[0]
  }
}

/**
 * Answers from this server, possibly with the error for an unknown entry.
 *
 * @throws McpError `method_not_found` when neither this server nor an upstream offers the method
 */
async function answerLocally(
  context: MethodContext,
  ownMethod: Method,
  proxies: readonly Proxied[],
  feature: Feature,
): Promise<Result> {
  const { declarations } = context.server
  const isOwn = ownMethod.offered(declarations, context.environment)
  if (!isOwn && !(await isOffered(context, feature, proxies))) throw notFound(context.call.method)
  return ownMethod.answer(context)
}

const stripPrefix = ({ prefix }: Proxied, name: string): string => name.slice(prefix.length)

/**
 * Returns an error result for the model if its client rejects an input request or, in a session, cannot receive one, as for tools that are
 * registered here.
 */
function toToolError({ call }: MethodContext, thrown: unknown): Result {
  if (thrown instanceof ToolError) return { content: [{ type: 'text', text: thrown.message }], isError: true }
  if (!(thrown instanceof McpError)) throw thrown
  const { kind, message } = thrown
  const isTold = kind === 'client_error' || (kind === 'missing_client_capability' && !call.revision.stateless)
  if (!isTold) throw thrown
  return { content: [{ type: 'text', text: message }], isError: true }
}
