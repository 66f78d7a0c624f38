/** edgemcp/events: Publish events to which clients subscribe by webhook. */
export {
  type DeadLetter,
  type Event,
  type EventDefinition,
  type EventRecipients,
  event,
  type PublishOptions,
} from './event.ts'
export { type EventsClass, type EventsOptions, events } from './events.ts'
export { type EventsEntrypoint, eventsEntrypoint } from './events-entrypoint.ts'
export {
  type FromWebhookOptions,
  fromWebhook,
  type InboundWebhook,
  type WebhookProvider,
} from './from-webhook.ts'
