/**
 * What a token must allow.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-challenge-handling
 */
import { McpError } from '../protocol/errors.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Params } from '../protocol/types.ts'
import type { Guarded } from '../server/caller.ts'
import type { Registry } from '../server/server.ts'
import { isPermitted, isVisible } from './methods/lists.ts'
import { findResource } from './methods/resources.ts'

const none: readonly string[] = []

/** All scopes of what a request is about, if the caller lacks one of them. What is hidden from it needs none: it is not there. */
export async function lackedScopes(
  registry: Registry,
  principal: Principal | undefined,
  { method, params }: { method: string; params?: Params },
): Promise<readonly string[]> {
  const entry = entryOf(registry, method, params ?? {})
  if (!entry || isPermitted(entry, { principal })) return none
  return (await isVisible(entry, { principal })) ? (entry.scopes ?? none) : none
}

/** What was declared that a request is about. Only what its method looks at counts. */
export function entryOf(registry: Registry, method: string, params: Params): Guarded | undefined {
  switch (method) {
    case 'tools/call':
      return registry.tools.get(params.name as string)
    case 'prompts/get':
      return registry.prompts.get(params.name as string)
    case 'completion/complete': {
      const { type, name, uri } = isObject(params.ref) ? params.ref : {}
      return type === 'ref/prompt' ? registry.prompts.get(name as string) : resourceAt(registry, uri)
    }
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return resourceAt(registry, params.uri)
  }
  return undefined
}

/** A template by its own text, or what serves a URI. */
const resourceAt = (registry: Registry, uri: unknown): Guarded | undefined =>
  typeof uri === 'string' ? (registry.templates.get(uri) ?? findResource(registry, uri)?.resource) : undefined

export const insufficientScope = (scopes: readonly string[]): McpError =>
  new McpError('insufficient_scope', `This takes the scopes ${scopes.join(' ')}`, { scopes })
