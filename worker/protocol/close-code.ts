/** Close codes of the WebSocket of a relay. Any other code means that the other end was lost. */

/** The stream is complete. */
export const complete = 1000

/** The client should reconnect for the remaining events. */
export const released = 4001

/** Another relay has replaced this one. */
export const replaced = 4002

/** There are more events: the Worker reconnects after its last event, when its client has read. */
export const paused = 4003

/** Sent by the Worker: its client has disconnected. */
export const clientGone = 4000

/** Sent by the Worker, with the id of the last event as its reason: the stream ends at its maximum age, and its client will continue. */
export const aged = 4005
