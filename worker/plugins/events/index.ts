/** edgemcp/events: Publish events to which clients subscribe by webhook. */
export { type Event, type EventDefinition, type EventRecipients, event } from './event.ts'
export { type EventsClass, type EventsOptions, events } from './events.ts'
