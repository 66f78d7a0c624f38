/**
 * The changes of a server, their topics and recipients, and their notifications.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */
import { McpError } from './errors.ts'
import { isObject } from './jsonrpc.ts'
import type { Principal } from './principal.ts'
import { sha256 } from './sha256.ts'
import type { Notification, Params, SubscriptionFilter } from './types.ts'
import { normalizePart, normalizeUri } from './uri.ts'

/** The lists whose changes are published. */
export const lists = ['tools', 'prompts', 'resources'] as const

export type List = (typeof lists)[number]

export type Change = { list: List } | { resource: string }

/** A change of the server, or a notification of an extension. */
export type ServerEvent = Change | Notification

/** Returns the member of a filter for the changes of a list. */
const filterNameOf = (list: List) => `${list}ListChanged` as const

export const eventNotification = (event: ServerEvent): Notification =>
  'method' in event
    ? event
    : 'list' in event
      ? { method: `notifications/${event.list}/list_changed` }
      : { method: 'notifications/resources/updated', params: { uri: event.resource } }

/**
 * Selects who receives a notification: everyone, a tenant, a user, a user of one client, or a session. `ctx.principal` selects its own
 * tenant or, without a tenant, its user.
 */
export type Recipients =
  /** The principals of one tenant. */
  | {
      /** Issuer that names the tenant. */
      readonly issuer: string
      /** Tenant whose principals receive the notification. */
      readonly tenant: string
    }
  /** The tenant of a principal or, without a tenant, its user. */
  | Pick<Principal, 'issuer' | 'tenant' | 'subject' | 'scopes'>
  | UserRecipients
  | SessionRecipients
  /** Everyone: `{}`. */
  | { readonly issuer?: undefined; readonly tenant?: undefined }

/** Selects the sessions and streams of one user. */
export type UserRecipients = {
  /** The user, such as `ctx.principal`. */
  readonly user: {
    /** Issuer that names the user: `iss` of its tokens. */
    readonly issuer: string
    /** The user: `sub` of its tokens. */
    readonly subject: string
    /** Tenant that the user acts for. Default: none, which selects the principals of the user without a tenant. */
    readonly tenant?: string | undefined
  }
  /** The OAuth client of the user, `client_id` or `azp` of its tokens. Default: all clients of the user. */
  readonly client?: string | undefined
}

/** Selects one session. */
export type SessionRecipients = {
  /** The id of the session: `ctx.session.id`, or `Mcp-Session-Id`. */
  readonly session: string
}

/** Recipients that topics find. A session is called by its id. */
export type TopicRecipients = Exclude<Recipients, SessionRecipients | Pick<Principal, 'scopes'>>

/** Counts subscribers of a resource. */
export type SubscriberCount = {
  /** Sessions, whether or not they have a stream at the moment. */
  readonly sessions: number
  /** Open streams of `subscriptions/listen`. */
  readonly streams: number
  /** Whether all sessions are counted. A Durable Object counts 10,000 sessions at most. */
  readonly isComplete: boolean
}

/** What topics contain of a subscriber. Members of a principal; an anonymous subscriber has none. */
export type SubscriberScope = {
  readonly issuer?: string | undefined
  readonly tenant?: string | undefined
  readonly subject?: string | undefined
  readonly client?: string | undefined
}

/**
 * Returns a text that identifies the tenant among those of all issuers; `undefined`: everyone. All such texts have the same length.
 *
 * @throws Error for a tenant without its issuer
 */
export function tenantKey({ issuer, tenant }: SubscriberScope): string | undefined {
  if (tenant === undefined) return undefined
  if (typeof issuer === 'string') return sha256(JSON.stringify([issuer, tenant]))
  const text = JSON.stringify(tenant)
  throw new Error(
    `A change for the tenant ${text} needs the issuer of the tenant: pass { issuer, tenant }, or ctx.principal`,
  )
}

/**
 * Returns the start of topics for a user, of one client if `client` is given. The user is identified by issuer, tenant and subject. The
 * start for a user is the start of those for its clients.
 */
export function userPrefix({ issuer, tenant, subject, client }: SubscriberScope): string {
  const user = `user:${sha256(JSON.stringify([issuer, tenant ?? null, subject]))}/`
  return client === undefined ? user : `${user}client:${sha256(client)}/`
}

/** Returns the text that identifies a subscriber among users and their clients; `undefined` for an anonymous subscriber. */
export const subscriberKey = (scope: SubscriberScope): string | undefined =>
  scope.subject === undefined ? undefined : userPrefix(scope)

/** Splits a topic for a user into the prefix of the user and the rest; the prefix of other topics is empty. */
export function splitTopic(topic: string): readonly [prefix: string, rest: string] {
  const [prefix = ''] = /^user:[\w-]+\/(?:client:[\w-]+\/)?/.exec(topic) ?? []
  return [prefix, topic.slice(prefix.length)]
}

/**
 * Returns the topic of a change for its recipients, by which subscribers are found. A URI has one spelling: `note://%31` is `note://1`, as
 * for templates. Topics are ASCII, so a character is a byte wherever they are stored.
 */
export const topicOf = (change: Change, recipients: TopicRecipients = {}): string =>
  `${recipientsPrefix(recipients)}${'list' in change ? change.list : `resource:${normalizeTopicUri(change.resource)}`}`

/** Returns the start of topics for recipients. */
export const recipientsPrefix = (recipients: TopicRecipients): string =>
  'user' in recipients
    ? userPrefix({ ...recipients.user, client: recipients.client })
    : tenantPrefix(tenantKey(recipients))

/** Returns the name of the Durable Object of a shard of the subscriptions. The first shard is 0. */
export const shardName = (shard: number): string => `subscriptions ${shard}`

/** Reads a name of `shardName`; 0 for another name. */
export const readShardName = (name: string | undefined): number =>
  Number(/^subscriptions (\d+)$/.exec(name ?? '')?.[1] ?? 0)

/**
 * Normalizes the URI of a topic, or of a template: the text between its expressions. An expression has one spelling. In the normal form of
 * a URI braces are encoded, so that a URI equals no template.
 */
export const normalizeTopicUri = (resource: string): string =>
  resource
    .toWellFormed()
    .split(/(\{[^{}]*\})/)
    .map((part, index) => (index % 2 === 1 ? asciiOf(part) : index === 0 ? normalizeUri(part) : normalizePart(part)))
    .join('')

/** Replaces all characters but visible ASCII. No expression of a template contains the replacement. */
const asciiOf = (expression: string) => expression.replace(/[^!-~]/gu, (character) => `<${character.codePointAt(0)}>`)

const tenantPrefix = (key: string | undefined) => (key === undefined ? '' : `tenant:${key} `)

/** Returns the topics of a subscriber of a tenant to these changes. */
export const topicsFor = (changes: readonly Change[], scope: SubscriberScope): string[] => [
  ...new Set(
    withTenant(
      changes.map((change) => topicOf(change)),
      tenantKey(scope),
    ),
  ),
]

/** Returns these topics, and each for the tenant. @param key see `tenantKey` */
export const withTenant = (topics: readonly string[], key: string | undefined): string[] =>
  key === undefined ? [...topics] : topics.flatMap((topic) => [topic, `${tenantPrefix(key)}${topic}`])

export const listChanges = lists.map((list) => ({ list })) satisfies readonly Change[]

/** Returns the changes that a filter selects. */
export const changesIn = (filter: SubscriptionFilter): Change[] => [
  ...lists.filter((list) => filter[filterNameOf(list)]).map((list) => ({ list })),
  ...(filter.resourceSubscriptions ?? []).map((resource) => ({ resource })),
]

/** @throws McpError `invalid_params` when the filter is missing or has the wrong shape */
export function readFilter(params: Params | undefined): SubscriptionFilter {
  const filter = params?.notifications
  if (!isObject(filter)) throw new McpError('invalid_params', 'params.notifications must be an object')
  for (const name of lists.map(filterNameOf)) {
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

/** Returns the part of a filter that this server supports, which it acknowledges. */
export function supportedFilter(
  filter: SubscriptionFilter,
  offered: Readonly<Record<List, boolean>>,
): SubscriptionFilter {
  const supported = lists.filter((list) => offered[list] && filter[filterNameOf(list)])
  return {
    ...Object.fromEntries(supported.map((list) => [filterNameOf(list), true])),
    resourceSubscriptions: offered.resources ? filter.resourceSubscriptions : undefined,
  }
}

/** Returns a text for an entry that can be enabled and disabled. */
export const toggleKey = (list: List, name: string): string => `${list} ${name}`
