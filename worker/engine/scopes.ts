/**
 * What a token must allow.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-challenge-handling
 */
import { McpError } from '../protocol/errors.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Params } from '../protocol/types.ts'
import type { Visibility } from '../server/caller.ts'
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

/** What was declared that a request is about. */
export function entryOf(registry: Registry, method: string, params: Params): Visibility | undefined {
  const { tools, prompts, templates } = registry
  const { name, uri } = (method === 'completion/complete' ? (params.ref ?? {}) : params) as Record<string, string>
  if (method === 'tools/call') return tools.get(name as string)
  if (typeof uri === 'string') return templates.get(uri) ?? findResource(registry, uri)?.resource
  return prompts.get(name as string)
}

export const insufficientScope = (scopes: readonly string[]): McpError =>
  new McpError('insufficient_scope', `This takes the scopes ${scopes.join(' ')}`, { scopes })
