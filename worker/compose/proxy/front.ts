/** What a server answers that stands before others. */
import { methods } from '../../engine/methods/index.ts'
import type { Asked, Method } from '../../engine/methods/method.ts'
import type { Params, Result } from '../../protocol/types.ts'
import type { Registry } from '../../server/server.ts'
import { callTool, complete, getPrompt, readResource } from './calls.ts'
import { besides } from './capabilities.ts'
import { listed } from './lists.ts'
import { type List, notFound, type Proxied } from './proxied.ts'

/** The servers that each stands before, in the order in which they are asked. */
const behind = new WeakMap<Registry, Proxied[]>()

export const proxiesOf = (registry: Registry): readonly Proxied[] => behind.get(registry) ?? []

/** An answer of this server or of those behind it. @param own what answers from what is declared here */
export type Relay = (asked: Asked, own: Method, proxies: readonly Proxied[]) => Promise<Result>

const listing =
  (list: List): Relay =>
  (asked, own, proxies) =>
    listed(asked, own, list, proxies)

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

/** Puts a server before these, and before those that it stands before already. */
export function standBefore(registry: Registry, proxies: readonly Proxied[]): void {
  registry.forwarded.push(...proxies)
  const known = behind.get(registry)
  if (known) return void known.push(...proxies)
  const all = [...proxies]
  behind.set(registry, all)
  for (const [name, relay] of Object.entries(relays)) {
    const own = (registry.methods.get(name) ?? methods[name]) as Method
    // Whether anything is offered is known when they have been asked.
    const method: Method = { ...own, offered: () => true, answer: (asked) => relayUntilOver(relay, asked, own, all) }
    registry.methods.set(name, method)
  }
  const { capabilities } = registry
  registry.capabilities = async (revision, principal) => ({
    ...revision.server(await besides(registry, all, principal)),
    ...(await capabilities?.(revision, principal)),
  })
}

/** A call without a principal and without a session has upstream sessions of its own, which end with it. */
async function relayUntilOver(relay: Relay, asked: Asked, own: Method, proxies: readonly Proxied[]): Promise<Result> {
  try {
    return await relay(asked, own, proxies)
  } finally {
    for (const proxied of proxies) proxied.end(asked)
  }
}

async function discovered(asked: Asked, own: Method, proxies: readonly Proxied[]): Promise<Result> {
  const { call, server } = asked
  // Revisions with a handshake say it there.
  if (!call.revision.requests.has(call.method)) throw notFound(call.method)
  const [result, more] = await Promise.all([own.answer(asked), besides(server.registry, proxies, call.principal)])
  const capabilities = { ...more, ...(result.capabilities as Params) }
  return { ...result, capabilities, ttlMs: 0, cacheScope: 'private' }
}
