/**
 * What can change on a server, who hears it, and how it is said.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/utilities/subscriptions
 */
import { McpError } from './errors.ts'
import { isObject } from './jsonrpc.ts'
import type { Notification, Params, SubscriptionFilter } from './types.ts'

export type Change = { list: 'tools' | 'prompts' | 'resources' } | { resource: string }

const listNotifications = {
  tools: 'notifications/tools/list_changed',
  prompts: 'notifications/prompts/list_changed',
  resources: 'notifications/resources/list_changed',
} as const

const listFilters = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const

export const changeNotification = (change: Change): Notification =>
  'list' in change
    ? { method: listNotifications[change.list] }
    : { method: 'notifications/resources/updated', params: { uri: change.resource } }

/** Does a listener with this filter hear the change? */
export const hears = (filter: SubscriptionFilter, change: Change): boolean =>
  'list' in change
    ? filter[listFilters[change.list]] === true
    : (filter.resourceSubscriptions?.includes(change.resource) ?? false)

/** One text per change, for storing who wants it. */
export const topicOf = (change: Change): string => ('list' in change ? change.list : `resource:${change.resource}`)

/** The topics of list changes: what every open session stream hears. */
export const listTopics = ['tools', 'prompts', 'resources'] as const

/** @throws McpError `invalid_params` when the filter is missing or has the wrong shape */
export function readFilter(params: Params | undefined): SubscriptionFilter {
  const filter = params?.notifications
  if (!isObject(filter)) throw new McpError('invalid_params', 'params.notifications must be an object')
  for (const name of Object.values(listFilters)) {
    if (filter[name] !== undefined && typeof filter[name] !== 'boolean') {
      throw new McpError('invalid_params', `params.notifications.${name} must be true or false`)
    }
  }
  const uris = filter.resourceSubscriptions
  if (uris !== undefined && !(Array.isArray(uris) && uris.every((uri) => typeof uri === 'string'))) {
    throw new McpError('invalid_params', 'params.notifications.resourceSubscriptions must be a list of URIs')
  }
  return filter
}

/** The part of a filter that this server honours: what it acknowledges. */
export function honoured(
  filter: SubscriptionFilter,
  offered: { tools: boolean; prompts: boolean; resources: boolean },
): SubscriptionFilter {
  return {
    ...(filter.toolsListChanged && offered.tools && { toolsListChanged: true }),
    ...(filter.promptsListChanged && offered.prompts && { promptsListChanged: true }),
    ...(filter.resourcesListChanged && offered.resources && { resourcesListChanged: true }),
    ...(filter.resourceSubscriptions && offered.resources && { resourceSubscriptions: filter.resourceSubscriptions }),
  }
}
