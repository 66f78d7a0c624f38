/**
 * `subscriptions/listen`: a stream of changes for a stateless client.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/utilities/subscriptions
 */
import type { Shards } from '../../durable-objects/updates.ts'
import { hasResources } from '../engine/methods/resources.ts'
import { mayHear } from '../engine/subscribing.ts'
import { eventFrame } from '../http/event-stream.ts'
import { openFeed } from '../http/feed.ts'
import { type Host, sealsOf } from '../http/host.ts'
import { changesIn, honoured, type News, newsNotification, readFilter, topicsFor } from '../protocol/changes.ts'
import { McpError } from '../protocol/errors.ts'
import { notificationText, type RequestMessage, resultText } from '../protocol/jsonrpc.ts'
import { subscriptionIdKey } from '../protocol/meta.ts'
import { type Principal, principalKey } from '../protocol/principal.ts'
import type { Notification, Params, SubscriptionFilter } from '../protocol/types.ts'
import { utf8 } from '../protocol/utf8.ts'
import type { Registry } from '../server/server.ts'

/** What a socket's attachment holds. */
const mostTopicBytes = 12_000

/** @throws McpError `invalid_params` for a filter that is none, `too_many_requests` when too many streams are open */
export async function listen(
  message: RequestMessage,
  host: Host,
  shards: Shards,
  principal: Principal | undefined,
): Promise<Response> {
  const { registry } = host.server
  const filter = await permitted(readFilter(message.params), registry, principal)
  const besides = await registry.listens?.(message.params as Params, sealsOf(host, principal).open)
  const changes = topicsFor(changesIn(filter), { tenant: principal?.tenant })
  const topics = JSON.stringify([...changes, ...(besides?.topics ?? [])])
  if (utf8(topics).length > mostTopicBytes) {
    throw new McpError('invalid_params', 'Too much for one stream: open several')
  }
  const _meta = { [subscriptionIdKey]: message.id }
  const tagged = ({ method, params }: Notification) =>
    eventFrame(notificationText({ method, params: { ...params, _meta } } as Notification))
  const listener = principalKey(principal)
  const shard = shards.of(listener)
  const feed = await openFeed({
    ...host.limits,
    dial: (after = '') => {
      const query = new URLSearchParams({ topics, listener, after })
      return shards
        .at(shard)
        .fetch(new Request(`https://updates/listen?${query}`, { headers: { Upgrade: 'websocket' } }))
    },
    frame: (payload) => tagged(newsNotification(JSON.parse(payload) as News)),
    greeting: tagged({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { ...filter, ...besides?.filter } },
    }),
    parting: eventFrame(resultText(message.id, { resultType: 'complete', _meta })),
  })
  if (feed.status === 200) {
    if (besides) host.waitUntil(besides.begun(shard).catch(host.report))
    return feed
  }
  throw new McpError('too_many_requests', 'Too many streams of changes are open: close one, or try again later')
}

/** The part of a filter that is offered here and open to this caller. */
async function permitted(
  filter: SubscriptionFilter,
  registry: Registry,
  principal: Principal | undefined,
): Promise<SubscriptionFilter> {
  const { resourceSubscriptions, ...lists } = honoured(filter, {
    tools: registry.tools.size > 0,
    prompts: registry.prompts.size > 0,
    resources: hasResources(registry),
  })
  if (!resourceSubscriptions) return lists
  const allowed = await Promise.all(resourceSubscriptions.map((uri) => mayHear(registry, { principal }, uri)))
  return { ...lists, resourceSubscriptions: resourceSubscriptions.filter((_, index) => allowed[index]) }
}
