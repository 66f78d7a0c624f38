/** The methods of a server with upstreams. */

import type { Declarations, DeclarationsDraft } from '../../../declarations/declarations.ts'
import { addCapabilities, addForwarded, replaceMethod } from '../../../declarations/extend.ts'
import { callerContextOf } from '../../../engine/caller.ts'
import { callMethod, declaredMethod } from '../../../engine/methods/index.ts'
import type { Method, MethodContext } from '../../../engine/methods/method.ts'
import { McpError } from '../../../protocol/errors.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import type { Result } from '../../../protocol/types.ts'
import { startingCaller, upstreamCapabilities } from './capabilities.ts'
import { listed } from './lists.ts'
import { type List, notFound, type Proxied } from './proxied.ts'
import { callTool, complete, getPrompt, readResource } from './route-calls.ts'

/** The upstreams of each server, in the order in which they are asked. */
const behind = new WeakMap<Declarations, Proxied[]>()

export const proxiesOf = (declarations: Declarations): readonly Proxied[] => behind.get(declarations) ?? []

/** Answers a request from this server or its upstreams. @param ownMethod answers from what is registered here */
export type Relay = (context: MethodContext, ownMethod: Method, proxies: readonly Proxied[]) => Promise<Result>

const listing =
  (list: List): Relay =>
  (context, ownMethod, proxies) =>
    listed(context, ownMethod, list, proxies)

const relays: Readonly<Record<string, Relay>> = {
  'server/discover': discovered,
  'tools/list': listing('tools/list'),
  'tools/call': callTool,
  'prompts/list': listing('prompts/list'),
  'prompts/get': getPrompt,
  'resources/list': listing('resources/list'),
  'resources/templates/list': listing('resources/templates/list'),
  'resources/read': readResource,
  'completion/complete': complete,
}

/** Whether a method of a server is a relay. Each server with upstreams has relays of its own. */
export const isRelay = (declarations: Declarations, name: string): boolean =>
  behind.has(declarations) && Object.hasOwn(relays, name)

/** Adds upstreams to a server, after those that it already has. */
export function mountUpstreams(draft: DeclarationsDraft, proxies: readonly Proxied[]): void {
  addForwarded(
    draft,
    proxies.map(({ access }) => access),
  )
  const cached = behind.get(draft)
  if (cached) return void cached.push(...proxies)
  const all = [...proxies]
  behind.set(draft, all)
  for (const [name, relay] of Object.entries(relays)) {
    const ownMethod = declaredMethod(draft, name) ?? callMethod(name)
    // Every method of `relays` is a method of the protocol.
    if (!ownMethod) continue
    // Only the upstreams know whether they offer anything.
    const method: Method = {
      ...ownMethod,
      offered: () => true,
      answer: (context) => relayUntilOver(relay, context, ownMethod, all),
    }
    replaceMethod(draft, name, method)
  }
  addCapabilities(draft, async (revision, _, caller, declarations) =>
    revision.server(await upstreamCapabilities(declarations, all, startingCaller(caller), draft.changes.isConnected)),
  )
}

/** Runs a relay. A call without a principal and without a session has upstream sessions of its own, which end with it. */
async function relayUntilOver(
  relay: Relay,
  context: MethodContext,
  ownMethod: Method,
  proxies: readonly Proxied[],
): Promise<Result> {
  try {
    return await relay(context, ownMethod, proxies)
  } catch (thrown) {
    reportCause(context, thrown)
    throw thrown
  } finally {
    for (const proxied of proxies) proxied.end(context)
  }
}

/** Logs why an upstream did not respond, which clients do not read. With `onError` or `handlerErrors`, the engine logs it. */
function reportCause({ server, environment }: MethodContext, thrown: unknown): void {
  if (!(thrown instanceof McpError) || thrown.cause === undefined || server.declarations.handleFailure) return
  environment.report(thrown)
}

async function discovered(context: MethodContext, ownMethod: Method, proxies: readonly Proxied[]): Promise<Result> {
  const { call, server, environment } = context
  // Revisions with a handshake say it there.
  if (!call.revision.requests.has(call.method)) throw notFound(call.method)
  const [result, more] = await Promise.all([
    ownMethod.answer(context),
    upstreamCapabilities(server.declarations, proxies, callerContextOf(call, environment), environment.updates),
  ])
  const capabilities = { ...more, ...(isObject(result.capabilities) && result.capabilities) }
  return { ...result, capabilities, ttlMs: 0, cacheScope: 'private' }
}
