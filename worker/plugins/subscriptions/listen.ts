/**
 * `subscriptions/listen`: a stream of changes for a stateless client.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */

import {
  type SubscriptionsOptions,
  subscriberKeyHeader,
  tenantKeyHeader,
  topicsHeader,
} from '../../../durable-objects/subscriptions/object.ts'
import type { Shards } from '../../../durable-objects/subscriptions/rpc.ts'
import type { CallerContext } from '../../declarations/caller.ts'
import type { Declarations, ExtraSubscription, Open, SubscriptionTopics } from '../../declarations/declarations.ts'
import { guardStep } from '../../engine/failure.ts'
import { hasResources } from '../../engine/methods/resources.ts'
import { canSubscribe } from '../../engine/topics.ts'
import * as bounds from '../../protocol/bounds.ts'
import {
  changesIn,
  eventNotification,
  readFilter,
  subscriberKey,
  supportedFilter,
  tenantKey,
  topicOf,
} from '../../protocol/changes.ts'
import { asMcpError, McpError } from '../../protocol/errors.ts'
import { notificationText, type RequestMessage, resultText } from '../../protocol/jsonrpc.ts'
import { metaOf, subscriptionIdKey } from '../../protocol/meta.ts'
import type { Revision } from '../../protocol/revision.ts'
import { eventFrame } from '../../protocol/server-sent-events.ts'
import type { Notification, SubscriptionFilter } from '../../protocol/types.ts'
import { listenerOf, maxStreamsOf, tooManyStreams } from './stream-limit.ts'

export type ListenRequest = {
  readonly message: RequestMessage
  readonly revision: Revision
  readonly declarations: Declarations
  readonly caller: CallerContext
  /** Identity of the endpoint. */
  readonly identity: string
  /** IP address of the client, if the platform provides it. */
  readonly address: string | undefined
  /** Unseals values of the principal. */
  readonly open: Open
  readonly shards: Shards
  /** Returns what plugins listen to for the params. */
  readonly extrasFor: (...args: Parameters<SubscriptionTopics>) => Promise<readonly ExtraSubscription[]>
  readonly options: SubscriptionsOptions
  report(problem: unknown): void
}

/** Connects a client of `subscriptions/listen` to the Durable Object that sends its events. */
export interface SubscriptionStream {
  /**
   * Opens a WebSocket to the object.
   *
   * @param after the id of the last event that the client received; `undefined` starts with the next event
   * @returns a response without a WebSocket when the object rejects the stream
   */
  dial(after: string | undefined): Promise<Response>
  /** Converts a message of the object into the text of a server-sent event. */
  frame(payload: string): string
  /** Text that the client receives first. */
  readonly firstFrame: string
  /** Text that the client receives when the stream ends. */
  readonly lastFrame: string
  /** The error for the client when the object rejects the stream. */
  readonly rejection: McpError
  /** Called once the stream is open. */
  onOpened(): Promise<void>
  /** Called once the stream has ended, or was rejected. */
  onClosed?(): Promise<void>
}

/**
 * Reads the params of `subscriptions/listen`.
 *
 * @throws McpError `invalid_params` for an invalid filter, `out_of_bounds` for one that is too large for one stream
 */
export function listen(request: ListenRequest): Promise<SubscriptionStream> {
  return guarded(request, () => openStream(request))
}

/** Runs functions of declarations and plugins for the request. @throws McpError for what they throw: see `guardStep` */
function guarded<R>(
  { message, revision, caller, declarations }: ListenRequest,
  work: () => R | Promise<R>,
): Promise<R> {
  const { principal, requestContext, request, client } = caller
  const { method, params = {} } = message
  const step = { method, params, revision, principal, requestContext, request, client }
  return guardStep(declarations, step, work)
}

async function openStream(request: ListenRequest): Promise<SubscriptionStream> {
  const { message, revision, caller, declarations, shards, options, open } = request
  const { principal } = caller
  const requested = readFilter(message.params)
  // Measured before anything is asked about any of its URIs.
  topicsText(topicsOf(requested))
  const readable = await permitted(requested, declarations, caller)
  const extras = await request.extrasFor(message.params ?? {}, open, principal)
  const extraTopics = extras.flatMap(({ topics }) => topics)
  topicsText([...topicsOf(readable), ...extraTopics])
  const listener = await listenerOf(principal, request.identity, request.address)
  // Nothing throws after the hooks.
  const { filter, onClosed } = await withHooks(readable, request)
  const topics = topicsText([...topicsOf(filter), ...extraTopics])
  const _meta = { [subscriptionIdKey]: message.id }
  const tagged = (notification: Notification) => {
    const converted = revision.notification(notification)
    if (!converted) return ''
    const { method, params } = converted
    const all = { ...params, _meta: { ...metaOf(params), ..._meta } }
    // A notification, with one member more in its params.
    return eventFrame(notificationText({ method, params: all } as Notification))
  }
  // A stream that follows one at its maximum age continues in the same object.
  const shard = shards.of(listener || topics)
  const tenant = principal && tenantKey(principal)
  const subscriber = principal && subscriberKey(principal)
  const most = String(maxStreamsOf(principal, options))
  // A URL has at most 16 KB, and platforms log it.
  const headers = {
    Upgrade: 'websocket',
    [topicsHeader]: topics,
    ...(tenant !== undefined && { [tenantKeyHeader]: tenant }),
    ...(subscriber !== undefined && { [subscriberKeyHeader]: subscriber }),
  }
  return {
    dial(after = '') {
      const query = new URLSearchParams({ listener, after, most })
      return shards.at(shard).fetch(new Request(`https://subscriptions/listen?${query}`, { headers }))
    },
    // The Subscriptions object sends what was published.
    frame: (payload) => payload && tagged(eventNotification(JSON.parse(payload))),
    firstFrame: tagged({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: Object.assign({}, filter, ...extras.map((extra) => extra.filter)) },
    }),
    lastFrame: eventFrame(resultText(message.id, { resultType: 'complete', _meta })),
    rejection: tooManyStreams(),
    onOpened: async () => void (await Promise.all(extras.map((extra) => extra.onOpened(shard)))),
    ...(onClosed && { onClosed }),
  }
}

/** Calls `onSubscribe` for each URI. Returns the filter without the URIs that it refused, and what calls `onUnsubscribe` for the others. */
async function withHooks(
  filter: SubscriptionFilter,
  request: ListenRequest,
): Promise<{ readonly filter: SubscriptionFilter; readonly onClosed?: () => Promise<void> }> {
  const { caller, declarations, report } = request
  const { onSubscribe, onUnsubscribe } = declarations.hooks ?? {}
  const { resourceSubscriptions: uris } = filter
  if (!uris || !(onSubscribe || onUnsubscribe)) return { filter }
  const accepts = async (uri: string) => {
    try {
      await guarded(request, () => onSubscribe?.({ ...caller, uri }))
      return [uri]
    } catch (thrown) {
      // Reports what `onError` has not received.
      asMcpError(thrown, report)
      return []
    }
  }
  const accepted = (await Promise.all([...new Set(uris)].map(accepts))).flat()
  const unsubscribe = async (uri: string) => onUnsubscribe?.({ ...caller, uri })
  return {
    filter: { ...filter, resourceSubscriptions: accepted },
    onClosed: async () => void (await Promise.all(accepted.map((uri) => unsubscribe(uri).catch(report)))),
  }
}

const topicsOf = (filter: SubscriptionFilter) => changesIn(filter).map((change) => topicOf(change))

/** Returns the topics as JSON in ASCII. @throws McpError `out_of_bounds` */
function topicsText(topics: readonly string[]): string {
  const text = JSON.stringify([...new Set(topics)])
  if (text.length <= bounds.topicBytes) return text
  throw new McpError(
    'out_of_bounds',
    `The filter params.notifications has ${text.length} bytes: at most ${bounds.topicBytes} are allowed. Split it over several streams`,
  )
}

/** Returns the part of a filter that the server offers and that this caller may use. */
async function permitted(
  filter: SubscriptionFilter,
  declarations: Declarations,
  caller: CallerContext,
): Promise<SubscriptionFilter> {
  // Only they know which lists they have.
  const hasUpstreams = declarations.forwarded.length > 0
  const { resourceSubscriptions, ...lists } = supportedFilter(filter, {
    tools: hasUpstreams || declarations.tools.size > 0,
    prompts: hasUpstreams || declarations.prompts.size > 0,
    resources: hasUpstreams || hasResources(declarations),
  })
  if (!resourceSubscriptions) return lists
  const allowed = await Promise.all(resourceSubscriptions.map((uri) => canSubscribe(declarations, caller, uri)))
  return { ...lists, resourceSubscriptions: resourceSubscriptions.filter((_, index) => allowed[index]) }
}
