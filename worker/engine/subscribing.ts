import { type Change, type Scope, topicOf } from '../protocol/changes.ts'
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

/** What those listen to who are to hear of this: the change itself, and the templates that its resource comes from. */
export function topicsAbout(registry: Registry, change: Change, scope: Scope = {}): string[] {
  const templates =
    'resource' in change ? [...registry.templates].filter(([, { template }]) => template?.match(change.resource)) : []
  return [change, ...templates.map(([text]) => ({ resource: text }))].map((each) => topicOf(each, scope))
}
