/**
 * Reads event streams. The time is linear in the length of the stream, whatever it contains.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */

/** An event, also one whose data is empty. `id` and `event` are its own fields, `retry` is the last one of the stream. */
export type Event = { id: string | undefined; event: string | undefined; data: string; retry: number | undefined }

/** A longer id is ignored, as one with a NUL is: clients repeat it in a header. */
const maxIdCharacters = 8 * 1024

const lineFeed = 10
const carriageReturn = 13

export class EventStreamReader {
  /** Id from which the stream can be resumed: the last one before an empty line, also of an event without data. Empty without one. */
  lastEventId: string
  /** Milliseconds after which a client that lost the stream should reconnect. */
  retryMs: number | undefined
  readonly #onComment: ((comment: string) => void) | undefined
  readonly #decoder = new TextDecoder()
  /** The start of a line that a later chunk continues. */
  #line = ''
  /** Whether the text so far ends with a carriage return: a line feed after it belongs to the same line end. */
  #endsWithReturn = false
  #data: string[] = []
  #id: string | undefined
  #event: string | undefined

  /**
   * @param earlier reader of the stream that this one resumes
   * @param onComment receives each comment, in its order among the events
   */
  constructor(
    earlier: Partial<Pick<EventStreamReader, 'lastEventId' | 'retryMs'>> = {},
    onComment?: (comment: string) => void,
  ) {
    this.lastEventId = earlier.lastEventId ?? ''
    this.retryMs = earlier.retryMs
    this.#onComment = onComment
  }

  /** Yields the events that end in the next chunk of the stream. Read all of them before the next chunk. */
  *read(chunk: Uint8Array): Generator<Event, void> {
    // Without a byte order mark at the start of the stream.
    const text = this.#decoder.decode(chunk, { stream: true })
    let start = 0
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at)
      if (code !== lineFeed && code !== carriageReturn) continue
      const isAfterReturn = at === 0 ? this.#endsWithReturn : text.charCodeAt(at - 1) === carriageReturn
      const line = this.#line + text.slice(start, at)
      start = at + 1
      if (code === lineFeed && isAfterReturn) continue
      this.#line = ''
      const event = this.#readLine(line)
      if (event) yield event
    }
    if (text !== '') this.#endsWithReturn = text.endsWith('\r')
    this.#line += text.slice(start)
  }

  /** Returns the event that the line ends. */
  #readLine(line: string): Event | undefined {
    if (line === '') return this.#endEvent()
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + (line.charAt(colon + 1) === ' ' ? 2 : 1))
    if (field === '') this.#onComment?.(value)
    else if (field === 'data') this.#data.push(value)
    else if (field === 'event') this.#event = value
    else if (field === 'id' && value.length <= maxIdCharacters && !value.includes('\0')) this.#id = value
    else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value)
    return undefined
  }

  #endEvent(): Event | undefined {
    const data = this.#data
    const id = this.#id
    const event = this.#event || undefined
    this.#id = undefined
    this.#event = undefined
    this.lastEventId = id ?? this.lastEventId
    if (data.length === 0) return undefined
    this.#data = []
    return { id, event, data: data.join('\n'), retry: this.retryMs }
  }
}
