/**
 * What a token must allow.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-challenge-handling
 */
import { bounds } from '../protocol/bounds.ts'
import { McpError } from '../protocol/errors.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Params } from '../protocol/types.ts'
import { canonicalTemplate, canonicalUri } from '../protocol/uri.ts'
import type { Guarded } from '../server/caller.ts'
import type { ForwardedEntry } from '../server/forwarded.ts'
import type { Open, Registry } from '../server/server.ts'
import { isPermitted, isVisible } from './methods/lists.ts'
import type { Method } from './methods/method.ts'
import { findResource } from './methods/resources.ts'

const none: readonly string[] = []

/**
 * All scopes of what a request is about, if the caller lacks one of them. What is hidden from it needs none: it is not there.
 *
 * @param open of the caller's seals
 */
export async function lackedScopes(
  registry: Registry,
  principal: Principal | undefined,
  { method, params = {} }: { method: string; params?: Params },
  open: Open,
): Promise<readonly string[]> {
  // Each is an engine's `Method`.
  const own = await (registry.methods.get(method) as Method | undefined)?.scopes?.(params, open)
  if (own) return isPermitted({ scopes: own }, { principal }) ? none : own
  const entry = entryOf(registry, method, params)
  if (!entry || isPermitted(entry, { principal })) return none
  return (await isVisible(entry, { principal })) ? (entry.scopes ?? none) : none
}

/**
 * All scopes that a request takes, whoever sends it: for streams and input requests of its call, which need them too.
 *
 * @param open of the caller's seals
 */
export async function scopesOf(
  registry: Registry,
  { method, params = {} }: { method: string; params?: Params },
  open: Open,
): Promise<readonly string[]> {
  // Each is an engine's `Method`.
  const own = await (registry.methods.get(method) as Method | undefined)?.scopes?.(params, open)
  return own ?? entryOf(registry, method, params)?.scopes ?? none
}

/** What a request is about, declared here or by another server. Only what its method looks at counts. */
export function entryOf(registry: Registry, method: string, params: Params): Guarded | undefined {
  const entry = namedBy(method, params)
  return entry && (declaredEntry(registry, entry) ?? forwardedEntry(registry, canonical(entry, method)))
}

/** The entry under the spelling that is sent to the other server. See `proxy()`. */
function canonical({ kind, name }: ForwardedEntry, method: string): ForwardedEntry {
  if (kind !== 'resource') return { kind, name }
  return { kind, name: method === 'completion/complete' ? canonicalTemplate(name) : canonicalUri(name) }
}

/** What a request names, here. */
function namedBy(method: string, params: Params): ForwardedEntry | undefined {
  switch (method) {
    case 'tools/call':
      return named('tool', params.name)
    case 'prompts/get':
      return named('prompt', params.name)
    case 'completion/complete': {
      const { type, name, uri } = isObject(params.ref) ? params.ref : {}
      return type === 'ref/prompt' ? named('prompt', name) : named('resource', uri)
    }
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return named('resource', params.uri)
  }
  return undefined
}

/** A name longer than the largest bound names nothing: audit logs look up messages that were refused for their size, too. */
const named = (kind: ForwardedEntry['kind'], name: unknown): ForwardedEntry | undefined =>
  typeof name === 'string' && name.length <= bounds.uriCharacters ? { kind, name } : undefined

function declaredEntry(registry: Registry, { kind, name }: ForwardedEntry): Guarded | undefined {
  if (kind === 'tool') return registry.tools.get(name)
  if (kind === 'prompt') return registry.prompts.get(name)
  // A template by its own text, or what serves a URI.
  return registry.templates.get(name) ?? findResource(registry, name)?.resource
}

/**
 * What the one server has that can have it. Where several can, it is known later which one has: who forwards the request looks at
 * the scopes then.
 */
function forwardedEntry({ forwarded }: Registry, { kind, name }: ForwardedEntry): Guarded | undefined {
  const [only, ...others] = kind === 'resource' ? forwarded : forwarded.filter(({ prefix }) => name.startsWith(prefix))
  if (!only || others.length > 0) return undefined
  const nameThere = kind === 'resource' ? name : name.slice(only.prefix.length)
  return { enabled: undefined, scopes: only.scopesOf({ kind, name: nameThere }) }
}

export const insufficientScope = (scopes: readonly string[]): McpError =>
  new McpError('insufficient_scope', `This takes the scopes ${scopes.join(' ')}`, { scopes })
