/**
 * The text of server-sent events.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */

/** Milliseconds after which a client that lost its stream should reconnect. */
export const reconnectAfterMs = 1000

/** Writes one message as an event. JSON has no raw line breaks, so it is always one data line. */
export const eventFrame = (data: string, id?: string): string =>
  id === undefined ? `data: ${data}\n\n` : `id: ${id}\ndata: ${data}\n\n`

/**
 * Writes an event without data: it gives the client an event id to resume from.
 *
 * @param retryMs after which the client reconnects
 */
export const primingFrame = (id: string, retryMs = reconnectAfterMs): string =>
  `id: ${id}\nretry: ${retryMs}\ndata: \n\n`

/** A comment, which shows whether the other end is still there. */
export const keepAlive = ': keep-alive\n\n'

/** @param retryMs after which the client reconnects */
export const retryFrame = (retryMs = reconnectAfterMs): string => `retry: ${retryMs}\n\n`
