/**
 * `subscriptions/listen`: a stream of changes for a stateless client.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/utilities/subscriptions
 */
import type { Shards } from '../../../durable-objects/rpc.ts'
import { anonymousListener, tenantKeyHeader, topicsHeader } from '../../../durable-objects/subscriptions/object.ts'
import type { Registry } from '../../declarations/server.ts'
import { hasResources } from '../../engine/methods/resources.ts'
import { mayHear } from '../../engine/subscribing.ts'
import { eventFrame } from '../../http/event-stream.ts'
import { type Host, sealsOf } from '../../http/host.ts'
import { openRelay } from '../../http/relay.ts'
import { networkOf } from '../../protocol/address.ts'
import { encodeBase64 } from '../../protocol/base64.ts'
import { bounds } from '../../protocol/bounds.ts'
import {
  changesIn,
  eventNotification,
  readFilter,
  type ServerEvent,
  supportedFilter,
  tenantKey,
  topicOf,
} from '../../protocol/changes.ts'
import { McpError, tooManyRequests } from '../../protocol/errors.ts'
import { notificationText, type RequestMessage, resultText } from '../../protocol/jsonrpc.ts'
import { subscriptionIdKey } from '../../protocol/meta.ts'
import { type Principal, principalKey } from '../../protocol/principal.ts'
import type { Notification, Params, SubscriptionFilter } from '../../protocol/types.ts'
import { utf8 } from '../../protocol/utf8.ts'

/** When a stream will end is not known. */
const retryAfterSeconds = 60

/**
 * @param address of the client, where nobody is signed in
 * @throws McpError `invalid_params` for a filter that is none, `out_of_bounds` for one that a stream has no room for,
 * `too_many_requests` when too many streams are open
 */
export async function listen(
  message: RequestMessage,
  host: Host,
  shards: Shards,
  principal: Principal | undefined,
  address: string | undefined,
): Promise<Response> {
  const { registry } = host.server
  const requested = readFilter(message.params)
  // Measured before anything is asked about any of its URIs.
  topicsText(topicsOf(requested))
  const filter = await permitted(requested, registry, principal)
  const besides = await registry.subscriptionFilters?.(
    message.params as Params,
    sealsOf(host, principal).open,
    principal,
  )
  const topics = topicsText([...topicsOf(filter), ...(besides?.topics ?? [])])
  const _meta = { [subscriptionIdKey]: message.id }
  const tagged = ({ method, params }: Notification) =>
    eventFrame(notificationText({ method, params: { ...params, _meta } } as Notification))
  const shard = shards.of(principalKey(principal))
  const listener = await listenerOf(principal, address)
  const tenant = principal && tenantKey(principal)
  const { options } = host.updating ?? {}
  const maxStreams = principal ? options?.listenersEach : options?.listenersPerAddress
  const relay = await openRelay({
    ...host.limits,
    dial: (after = '') => {
      const query = new URLSearchParams({
        listener,
        after,
        ...(maxStreams !== undefined && { most: String(maxStreams) }),
      })
      // A URL has at most 16 KB, and lies in the logs of the platform.
      const headers = {
        Upgrade: 'websocket',
        [topicsHeader]: topics,
        ...(tenant !== undefined && { [tenantKeyHeader]: tenant }),
      }
      return shards.at(shard).fetch(new Request(`https://updates/listen?${query}`, { headers }))
    },
    frame: (payload) => tagged(eventNotification(JSON.parse(payload) as ServerEvent)),
    firstFrame: tagged({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { ...filter, ...besides?.filter } },
    }),
    lastFrame: eventFrame(resultText(message.id, { resultType: 'complete', _meta })),
  })
  if (relay.status === 200) {
    if (besides) host.waitUntil(besides.onOpened(shard).catch(host.report))
    return relay
  }
  const problem = `Too many streams of changes are open: close one, or wait ${retryAfterSeconds} seconds, then try again`
  throw tooManyRequests(problem, retryAfterSeconds, 'listeners')
}

const topicsOf = (filter: SubscriptionFilter) => changesIn(filter).map((change) => topicOf(change))

/** The topics as JSON, in ASCII. @throws McpError `out_of_bounds` */
function topicsText(topics: readonly string[]): string {
  const text = JSON.stringify([...new Set(topics)])
  if (text.length <= bounds.topicBytes) return text
  throw new McpError(
    'out_of_bounds',
    `A stream for params.notifications takes ${text.length} bytes: this server accepts at most ${bounds.topicBytes}. Open several streams`,
  )
}

/** Whose stream it is: of a principal, of an address, or empty where there is neither. */
async function listenerOf(principal: Principal | undefined, address: string | undefined): Promise<string> {
  if (!principal) return address ? `${anonymousListener}${networkOf(address)}` : ''
  // Short, and different for each principal, whatever length its claims have.
  return encodeBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(principalKey(principal)))))
}

/** The part of a filter that is offered here and open to this caller. */
async function permitted(
  filter: SubscriptionFilter,
  registry: Registry,
  principal: Principal | undefined,
): Promise<SubscriptionFilter> {
  const { resourceSubscriptions, ...lists } = supportedFilter(filter, {
    tools: registry.tools.size > 0,
    prompts: registry.prompts.size > 0,
    resources: hasResources(registry),
  })
  if (!resourceSubscriptions) return lists
  const allowed = await Promise.all(resourceSubscriptions.map((uri) => mayHear(registry, { principal }, uri)))
  return { ...lists, resourceSubscriptions: resourceSubscriptions.filter((_, index) => allowed[index]) }
}
