import { type Event, EventStreamReader } from '../../worker/client/event-stream-reader.ts'

/** The events of a whole stream. */
export const eventsIn = (text: string): Event[] => [...new EventStreamReader().read(new TextEncoder().encode(text))]
