import type { Caller } from '../declarations/caller.ts'
import { resourceNotFound } from '../declarations/content.ts'
import type { Registry } from '../declarations/server.ts'
import { type Change, type Recipients, topicOf } from '../protocol/changes.ts'
import type { Params } from '../protocol/types.ts'
import { uriProblem } from '../protocol/uri.ts'
import { isPermitted, isVisible } from './methods/lists.ts'
import { readText } from './methods/method.ts'
import { findResource, readable, readUri } from './methods/resources.ts'

/** May this caller hear that a resource changed, or one of a template's? Only if it may read it. */
export async function mayHear(registry: Registry, caller: Caller, uri: string): Promise<boolean> {
  const template = registry.templates.get(uri)
  // Of all its resources together nobody can say whether they may be read.
  if (template?.authorize) return false
  if (!template && uriProblem(uri) !== undefined) return false
  return template
    ? isPermitted(template, caller) && isVisible(template, caller)
    : (await readable(registry, caller, uri)) !== undefined
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

/**
 * What those listen to who are to hear of this: the change itself, and the template that its resource comes from. Others that
 * would fit it do not count: who may read them need not be allowed to read this.
 */
export function topicsAbout(registry: Registry, change: Change, scope: Recipients = {}): string[] {
  const item = 'resource' in change ? findResource(registry, change.resource)?.resource.item : undefined
  const changes = item && 'uriTemplate' in item ? [change, { resource: item.uriTemplate }] : [change]
  return changes.map((each) => topicOf(each, scope))
}
