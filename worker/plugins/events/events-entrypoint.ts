import { WorkerEntrypoint } from 'cloudflare:workers'
import { checkValue } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Event, EventRecipients, PublishOptions } from './event.ts'

// biome-ignore lint/suspicious/noExplicitAny: events with payloads of any type
type Events = Readonly<Record<string, Event<any>>>

/** Types an entrypoint with a method for each event, which publishes it as `publish()` does. */
export type EventsEntrypoint<E extends Events> = new (
  ctx: ExecutionContext,
  env: Cloudflare.Env,
) => WorkerEntrypoint & { readonly [Name in keyof E]: E[Name]['publish'] }

/** Names that the platform calls itself, or that RPC does not call. */
const reserved =
  /^(?:constructor|then|dup|fetch|connect|alarm|email|queue|scheduled|tail|tailStream|test|trace|webSocket\w+)$/

/**
 * Creates an entrypoint through which other Workers publish events, by a service binding. It has a method for each event.
 *
 * @param events the events, by the names of the methods. They are in `events()` of this Worker
 * @throws Error for a value that `event()` did not return, and for a name that the platform reserves
 * @see https://developers.cloudflare.com/workers/runtime-apis/bindings/service-bindings/rpc/
 *
 * @example
 * const orderPaid = event('order.paid', { payloadSchema: z.object({ id: z.string() }) })
 * export const McpEventPublisher = eventsEntrypoint({ orderPaid })
 * // In the other Worker, whose binding SHOP has the entrypoint "McpEventPublisher":
 * await env.SHOP.orderPaid({ id: '1' }, { everyone: true })
 */
export function eventsEntrypoint<const E extends Events>(events: E): EventsEntrypoint<E>
export function eventsEntrypoint(events: Events) {
  class McpEventPublisher extends WorkerEntrypoint {}
  for (const [name, event] of Object.entries(events)) {
    checkValue('eventsEntrypoint()', name, event, kind.having('publish', 'an event that event() returned'))
    if (reserved.test(name))
      throw new Error(`eventsEntrypoint() cannot have a method "${name}": rename the event there`)
    const value = (payload: unknown, recipients: EventRecipients, options?: PublishOptions) =>
      event.publish(payload, recipients, options)
    Object.defineProperty(McpEventPublisher.prototype, name, { value })
  }
  return McpEventPublisher
}
