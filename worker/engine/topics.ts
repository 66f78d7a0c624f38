/** Which callers may subscribe to which resources, and the topics of a change. */
import type { CallerContext } from '../declarations/caller.ts'
import type { Declarations } from '../declarations/declarations.ts'
import { resourceNotFound } from '../declarations/returned-values.ts'
import { type Change, type TopicRecipients, topicOf } from '../protocol/changes.ts'
import { uriProblem } from '../protocol/uri.ts'
import { isPermitted, isVisible } from './methods/lists.ts'
import { findResource, findTemplate, mayRead } from './methods/resources.ts'

/** Whether a caller may subscribe to a resource, or to the resources of a template: the caller must be allowed to read them. */
export async function canSubscribe(declarations: Declarations, caller: CallerContext, uri: string): Promise<boolean> {
  const template = findTemplate(declarations, uri)
  // `authorize` decides by resource, so it cannot decide for all resources of a template.
  if (template?.authorize) return false
  if (!template && uriProblem(uri) !== undefined) return false
  if (template) return isPermitted(template, caller) && isVisible(template, { caller })
  const match = findResource(declarations, uri)
  return match !== undefined && mayRead(match, caller, () => isVisible(match.resource, { caller }))
}

/** @throws McpError `resource_not_found` when the caller may not subscribe */
export async function checkSubscription(declarations: Declarations, caller: CallerContext, uri: string): Promise<void> {
  if (!(await canSubscribe(declarations, caller, uri))) throw resourceNotFound(uri)
}

/**
 * Returns the topics of a change: the change itself, and the template of its resource. Other templates that match the URI are omitted,
 * because callers who may read their resources may not be allowed to read this one.
 */
export function changeTopics(declarations: Declarations, change: Change, recipients: TopicRecipients = {}): string[] {
  const item = 'resource' in change ? findResource(declarations, change.resource)?.resource.item : undefined
  const changes = item && 'uriTemplate' in item ? [change, { resource: item.uriTemplate }] : [change]
  return changes.map((each) => topicOf(each, recipients))
}
