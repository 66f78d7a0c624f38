/**
 * `subscriptions/listen`: a stream of changes for a stateless client.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/utilities/subscriptions
 */
import { hasResources } from '../engine/methods/resources.ts'
import { mayHear } from '../engine/subscribing.ts'
import { type Change, changeNotification, honoured, readFilter } from '../protocol/changes.ts'
import { McpError } from '../protocol/errors.ts'
import { notificationText, type RequestMessage } from '../protocol/jsonrpc.ts'
import { subscriptionIdKey } from '../protocol/meta.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Notification, SubscriptionFilter } from '../protocol/types.ts'
import type { Registry } from '../server/server.ts'
import { eventFrame } from './event-stream.ts'
import { openFeed } from './feed.ts'
import type { Host, Objects } from './host.ts'

/** What a socket's attachment holds. */
const mostFilterBytes = 12_000

/** @throws McpError `invalid_params` */
export async function listen(
  message: RequestMessage,
  host: Host,
  objects: Objects,
  principal: Principal | undefined,
): Promise<Response> {
  const { registry } = host.server
  const filter = await permitted(readFilter(message.params), registry, principal)
  const settings = JSON.stringify(filter)
  if (new TextEncoder().encode(settings).length > mostFilterBytes) {
    throw new McpError('invalid_params', 'Too many resourceSubscriptions for one stream: open several')
  }
  const tagged = ({ method, params }: Notification) =>
    eventFrame(
      notificationText({
        method,
        params: { ...params, _meta: { [subscriptionIdKey]: message.id } },
      } as Notification),
    )
  return openFeed({
    ...host.limits,
    dial: () =>
      objects.updates().fetch(
        new Request(`https://updates/listen?filter=${encodeURIComponent(settings)}`, {
          headers: { Upgrade: 'websocket' },
        }),
      ),
    frame: (change) => tagged(changeNotification(JSON.parse(change) as Change)),
    greeting: tagged({ method: 'notifications/subscriptions/acknowledged', params: { notifications: filter } }),
  })
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
