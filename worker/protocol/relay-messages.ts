/**
 * The protocol between the two ends of a relay: the Durable Object writes messages to a WebSocket, the Worker reads them.
 *
 * A message is an envelope, one line of text without separators: one digit for the version of this format, two digits for
 * the length of the event id in UTF-16 code units, the event id, the payload. The Worker takes the id by its position, so
 * that no text from a handler, a client or an upstream can be mistaken for one.
 */

/** The name of the relay of the connection of a POST. Those of later connections are random. */
export const firstRelay = 'post'

const formatVersion = '1'
const headerLength = 3
const maxIdLength = 99

/** @param id of the last event in the payload. Default: the payload contains no event */
export function relayMessage(payload: string, id = ''): string {
  if (id.length > maxIdLength) {
    throw new RangeError(`Event id "${id}" has ${id.length} characters; at most ${maxIdLength} are supported`)
  }
  return `${formatVersion}${String(id.length).padStart(2, '0')}${id}${payload}`
}

/** @returns `undefined` for a message of another format: the two ends run different releases */
export function readRelayMessage(message: unknown): { id: string | undefined; payload: string } | undefined {
  if (typeof message !== 'string' || message[0] !== formatVersion) return undefined
  const end = headerLength + Number(message.slice(1, headerLength))
  if (!(end <= message.length)) return undefined
  return { id: message.slice(headerLength, end) || undefined, payload: message.slice(end) }
}
