import { BoundedBody } from '../../protocol/bounded-body.ts'
import { isRequestId, isResponse, type Parsed, parse, type ResponseMessage } from '../../protocol/jsonrpc.ts'
import type { RequestId } from '../../protocol/types.ts'
import { events, isEventStream } from '../../testing/wire.ts'

type ErrorMessage = Extract<ResponseMessage, { error: unknown }>

/** What an upstream answers to a POST with one request. */
export type Match =
  | { readonly kind: 'response'; readonly message: ResponseMessage }
  /** The body is one error without an id: the upstream refuses the POST, whatever is in it. */
  | { readonly kind: 'refusal'; readonly message: ErrorMessage }
  /** There are responses, and none of them has the id of the request. Nothing of them may reach the caller. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'none' }
  /** It has more than `maxAnswerBytes`. */
  | { readonly kind: 'too large' }

/**
 * Finds the response to a request by its id, with the id's exact type. Reads a stream until it is there.
 *
 * @see https://www.jsonrpc.org/specification#response_object
 */
export async function matchResponse(given: Response, id: RequestId): Promise<Match> {
  const bounded = given.body && new BoundedBody(given.body)
  try {
    return await matchIn(bounded ? new Response(bounded.stream, given) : given, id)
  } catch (problem) {
    if (bounded?.isTooLarge) return { kind: 'too large' }
    throw problem
  }
}

async function matchIn(response: Response, id: RequestId): Promise<Match> {
  let isForeign = false
  let refusal: ErrorMessage | undefined
  for await (const parsed of messagesIn(response)) {
    const message = 'message' in parsed ? parsed.message : undefined
    if (!message || !isResponse(message)) continue
    if (message.id === id) return { kind: 'response', message }
    if ('error' in message && !isRequestId(message.id) && !isEventStream(response)) refusal = message
    else isForeign = true
  }
  if (refusal && !isForeign) return { kind: 'refusal', message: refusal }
  return { kind: isForeign ? 'foreign' : 'none' }
}

async function* messagesIn(response: Response): AsyncGenerator<Exclude<Parsed, { batch: unknown }>> {
  if (!isEventStream(response)) return yield* each(parse(await response.text()))
  for await (const { data } of events(response)) if (data) yield* each(parse(data))
}

const each = (parsed: Parsed) => ('batch' in parsed ? parsed.batch : [parsed])
