/** Finds the response to a request in what an upstream sends, by its id. */

import { EventStreamReader } from '../../../client/event-stream-reader.ts'
import type { Received } from '../../../client/received.ts'
import { isTimeoutError } from '../../../client/request-guard.ts'
import { eventsByChunk, isEventStream, isMessage } from '../../../client/wire.ts'
import { wait } from '../../../engine/wait.ts'
import { BoundedBody } from '../../../protocol/bounded-body.ts'
import { countValues } from '../../../protocol/json-size.ts'
import {
  isNotification,
  isObject,
  isRequest,
  isRequestId,
  isResponse,
  type Message,
  type NotificationMessage,
  type Parsed,
  parse,
  type RequestMessage,
  type ResponseMessage,
} from '../../../protocol/jsonrpc.ts'
import type { RequestId } from '../../../protocol/types.ts'
import { wellFormedJson } from '../../../protocol/well-formed.ts'

type ErrorMessage = Extract<ResponseMessage, { error: unknown }>

/** The response of an upstream to a POST with one request. */
export type Match =
  | { readonly kind: 'response'; readonly message: ResponseMessage }
  /** One error without an id: the upstream rejects the POST, whatever it contains. */
  | { readonly kind: 'refusal'; readonly message: ErrorMessage }
  /** Responses without the id of the request. The caller must not receive any of them. */
  | { readonly kind: 'foreign' }
  /** No response. `problem`: of a body that is complete, so that it is an answer, unlike a stream that ends too early. */
  | { readonly kind: 'none'; readonly problem?: string | undefined }
  /** A response of more bytes or values than are read. `bound`: the number and the unit. */
  | { readonly kind: 'too large'; readonly bound: string }

/** Handles the messages on the streams of a request besides its response. */
export type Peer = {
  /** Receives a notification that the upstream sends before the response. */
  readonly onNotification?: ((notification: NotificationMessage) => void) | undefined
  /** Answers a request that an upstream with sessions sends. */
  readonly onRequest?: (request: RequestMessage) => void
  /** Requests the events after one from an upstream with sessions: a GET with `Last-Event-ID`. */
  readonly resume?: (lastEventId: string) => Promise<Response>
}

/** The time of a request was over after its response had started. */
export class SlowResponse extends Error {
  readonly status: number

  constructor(status: number, cause: unknown) {
    super(undefined, { cause })
    this.status = status
  }
}

/** Not those of requests: the answer of an upstream has more levels than what is in it. The levels keep recursion far from the end of the stack. */
const answerBounds = { maxJsonDepth: 1_000, maxJsonValues: Infinity, maxBatchSize: 10_000 }
/** Requests of an upstream that are answered during one call. */
const maxRequests = 100
/** Bytes that a message counts for besides its own: to parse a short one costs as much as to parse one of this length. */
const eventBytes = 128
/** The same for a message that is malformed: its error takes as long. */
const malformedBytes = 1_024
const maxResumptions = 100
/** Milliseconds before a stream is resumed: the default without `retry`, and the minimum. */
const defaultRetryMs = 1_000
const minRetryMs = 100
/** Milliseconds of the longest timer. */
const maxTimerMs = 2 ** 31 - 1

/**
 * Finds the response to a request by its id, with the id's exact type. Reads a stream until it is there, and resumes a stream that
 * ends before it.
 *
 * @param signal of the request
 * @param received counts the bytes and the values of the response
 * @throws SlowResponse after a timeout; any other reason of the signal
 * @see https://www.jsonrpc.org/specification#response_object
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
 */
export async function matchResponse(
  response: Response,
  id: RequestId,
  signal: AbortSignal,
  received: Received,
  peer?: Peer,
): Promise<Match> {
  try {
    return await findMatch(response, new Reading(id, signal, peer, received), signal, peer)
  } catch (problem) {
    throw isTimeoutError(problem) ? new SlowResponse(response.status, problem) : problem
  }
}

async function findMatch(response: Response, reading: Reading, signal: AbortSignal, peer?: Peer): Promise<Match> {
  let match = await reading.read(response)
  for (let count = 0; !match && reading.stream.lastEventId && peer?.resume && count < maxResumptions; count += 1) {
    const { lastEventId, retryMs = defaultRetryMs } = reading.stream
    // At most what a timer can be: the call's timeout comes before.
    await wait(Math.min(Math.max(retryMs, minRetryMs), maxTimerMs), signal)
    const resumed = await peer.resume(lastEventId).catch(() => undefined)
    signal.throwIfAborted()
    if (resumed?.ok && isEventStream(resumed)) {
      match = await reading.read(resumed)
      continue
    }
    await resumed?.body?.cancel()
    // A lost connection, and an error that is declared temporary, decide nothing.
    if (resumed && resumed.status !== 429 && resumed.status < 500) break
  }
  return match ?? reading.unmatched
}

/** Reads one response, which may come on several streams, one after another. */
class Reading {
  /** The event stream that was read last. */
  stream = new EventStreamReader()
  readonly #id: RequestId
  readonly #signal: AbortSignal
  readonly #peer: Peer | undefined
  readonly #received: Received
  #requests = 0
  #isForeign = false
  #refusal: ErrorMessage | undefined
  #malformed: string | undefined
  #problem: string | undefined

  constructor(id: RequestId, signal: AbortSignal, peer: Peer | undefined, received: Received) {
    this.#id = id
    this.#signal = signal
    this.#peer = peer
    this.#received = received
  }

  /** The outcome of streams without the response. */
  get unmatched(): Match {
    if (this.#refusal && !this.#isForeign) return { kind: 'refusal', message: this.#refusal }
    return this.#isForeign ? { kind: 'foreign' } : { kind: 'none', problem: this.#problem }
  }

  get #exceeded(): string | undefined {
    const { bytes, maxBytes, values, maxValues } = this.#received
    if (bytes > maxBytes) return `${maxBytes} bytes`
    return values > maxValues ? `${maxValues} values` : undefined
  }

  /** Reads until the response, or to the end. */
  async read(upstreamResponse: Response): Promise<Match | undefined> {
    const { body } = upstreamResponse
    const response = body
      ? new Response(new BoundedBody(body, this.#received).stream, upstreamResponse)
      : upstreamResponse
    const isStream = isEventStream(response)
    try {
      const match = isStream ? await this.#readStream(response) : this.#find(this.#whole(await response.text()), false)
      if (match) return match
    } catch (problem) {
      if (this.#exceeded) return { kind: 'too large', bound: this.#exceeded }
      this.#signal.throwIfAborted()
      // A stream whose connection is lost is resumed like one that ends.
      if (!isStream || !this.stream.lastEventId) throw problem
    }
    this.#signal.throwIfAborted()
    return undefined
  }

  async #readStream(response: Response): Promise<Match | undefined> {
    this.stream = new EventStreamReader(this.stream)
    for await (const events of eventsByChunk(response, this.stream, this.#signal)) {
      for (const event of events) {
        const match = isMessage(event) ? this.#find(this.#messagesIn(event.data), true) : undefined
        if (match) return match
      }
    }
    return undefined
  }

  /** Handles messages until one is the response. */
  #find(messages: readonly Message[], isStream: boolean): Match | undefined {
    for (const message of messages) {
      if (isRequest(message)) this.#onRequest(message)
      else if (isNotification(message)) this.#peer?.onNotification?.(message)
      if (!isResponse(message)) continue
      if (message.id === this.#id) return { kind: 'response', message }
      if ('error' in message && !isRequestId(message.id) && !isStream) this.#refusal = message
      else this.#isForeign = true
    }
    return undefined
  }

  #whole(text: string): Message[] {
    const messages = this.#messagesIn(text)
    this.#problem = text === '' ? 'the body is empty' : (this.#malformed ?? 'the body has no response')
    return messages
  }

  /**
   * Returns the messages of a body or an event. Malformed ones are ignored, except the answer to the request.
   *
   * @throws RangeError if more was received than is read. Too many values are not parsed: their objects take many times the memory of the text
   */
  #messagesIn(text: string): Message[] {
    const { values, maxValues } = this.#received
    this.#received.values += countValues(text, maxValues - values)
    if (this.#exceeded) throw new RangeError()
    const json = wellFormedJson(text)
    const parsed = parse(json, answerBounds)
    const all = 'batch' in parsed ? parsed.batch : [parsed]
    for (const each of all) this.#received.bytes += 'message' in each ? eventBytes : malformedBytes
    if (this.#exceeded) throw new RangeError()
    // Parsed again at the first malformed message, once for all.
    let value: unknown
    return all.flatMap((each, index) => {
      if ('message' in each) return each.message
      this.#malformed = each.malformed.message
      if (each.malformed.kind === 'parse_error') return []
      value ??= JSON.parse(json)
      return malformedAnswer('batch' in parsed && Array.isArray(value) ? value[index] : value, this.#id, each) ?? []
    })
  }

  #onRequest(request: RequestMessage): void {
    this.#requests += 1
    if (this.#requests <= maxRequests) this.#peer?.onRequest?.(request)
  }
}

/** Returns a malformed response to a request as an error: the upstream answers, so another request may succeed. */
function malformedAnswer(
  value: unknown,
  id: RequestId,
  { malformed }: Extract<Parsed, { malformed: unknown }>,
): ErrorMessage | undefined {
  if (!isObject(value) || value.id !== id || 'method' in value) return undefined
  const { code, message, data } = isObject(value.error) ? value.error : {}
  const error = {
    // Not the code of any error.
    code: Number.isInteger(code) && typeof message === 'string' ? Number(code) : Number.NaN,
    message:
      typeof message === 'string' ? message : `The upstream answered with an invalid response: ${malformed.message}`,
    data,
  }
  return { jsonrpc: '2.0', id, error }
}
