import type { Params } from '../protocol/types.ts'
import type { Caller } from '../server/caller.ts'
import { resourceNotFound } from '../server/content.ts'
import type { Registry } from '../server/server.ts'
import { isVisible } from './methods/lists.ts'
import { readText } from './methods/method.ts'
import { findResource, readUri } from './methods/resources.ts'

/** May this caller hear that a resource changed? Only if it may read it. */
export async function mayHear(registry: Registry, caller: Caller, uri: string): Promise<boolean> {
  const found = findResource(registry, uri)
  return found !== undefined && (await isVisible(found.resource, caller))
}

/**
 * The URI that `resources/subscribe` names.
 *
 * @throws McpError `invalid_params` when it is none, `resource_not_found` when this caller may not hear of it
 */
export async function readSubscription(registry: Registry, caller: Caller, params: Params): Promise<string> {
  const uri = readUri(readText(params, 'uri'))
  if (await mayHear(registry, caller, uri)) return uri
  throw resourceNotFound(uri)
}
