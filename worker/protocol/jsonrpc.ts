/**
 * JSON-RPC 2.0 as MCP uses it: ids are strings or integers, params are objects.
 *
 * @see https://www.jsonrpc.org/specification
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic
 */
import { type ErrorNumbers, McpError } from './errors.ts'
import { countValues } from './json-size.ts'
import type { Notification, Params, RequestId } from './types.ts'

/** Describes a JSON-RPC request. */
export type RequestMessage = {
  /** Always `2.0`. */
  jsonrpc: '2.0'
  /** The id, which the response repeats. */
  id: RequestId
  /** The method, such as `tools/call`. */
  method: string
  /** The params of the method. */
  params?: Params
}
/** Describes a JSON-RPC notification, which has no response. */
export type NotificationMessage = {
  /** Always `2.0`. */
  jsonrpc: '2.0'
  /** Always absent. */
  id?: undefined
  /** The method, such as `notifications/cancelled`. */
  method: string
  /** The params of the method. */
  params?: Params
}
export type ResponseMessage =
  | { jsonrpc: '2.0'; id: RequestId; result: Params }
  | { jsonrpc: '2.0'; id?: RequestId; error: { code: number; message: string; data?: unknown } }
/** Describes any JSON-RPC message. */
export type Message = RequestMessage | NotificationMessage | ResponseMessage

/**
 * The result of parsing a body. `malformed` has the id, if it could be read, so that the error response repeats it. `responseIds` are those
 * of malformed responses, whose calls wait for them. `refusedMessage` is a message that could be read and exceeds a bound, so that audit
 * logs can name its method.
 */
export type Parsed =
  | { message: Message }
  | { batch: Exclude<Parsed, { batch: unknown }>[] }
  | { malformed: McpError; id?: RequestId | undefined; responseIds?: RequestId[]; refusedMessage?: Message }

export const isRequest = (message: Message): message is RequestMessage => 'method' in message && 'id' in message
export const isNotification = (message: Message): message is NotificationMessage =>
  'method' in message && !('id' in message)
export const isResponse = (message: Message): message is ResponseMessage => !('method' in message)

/** Limits what a body contains. */
export type Bounds = {
  /**
   * Levels of nesting in a body. Beyond it, the response is 400. Default: 128, which keeps recursion over a body far from the end of the
   * stack.
   */
  maxJsonDepth: number
  /**
   * JSON values in a body: each object, array, string, number, boolean and null. Beyond it, the response is 400. A body of 4 MiB can have two
   * million, and handlers work for each of them. Default: 250,000.
   */
  maxJsonValues: number
  /**
   * Messages in one batch. Beyond it, the response is 400. The calls of a batch run one after the other, and each takes as much of the
   * processor as a call alone. Default: 10.
   */
  maxBatchSize: number
}

export const defaultBounds: Bounds = { maxJsonDepth: 128, maxJsonValues: 250_000, maxBatchSize: 10 }

/** Parses a body. Never throws: a problem is part of the result. */
export function parse(text: string, { maxJsonDepth, maxJsonValues, maxBatchSize } = defaultBounds): Parsed {
  // Before the values are made: those of a body of 4 MiB can take all memory of an isolate.
  const values = countValues(text, maxJsonValues, maxJsonDepth)
  if (!(values <= maxJsonValues)) {
    const most = values > maxJsonValues ? `${maxJsonValues} values` : `${maxJsonDepth} levels`
    return unreadableBody(refuse(`The body has more than ${most}`).malformed, text)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return unreadableBody(new McpError('parse_error', 'The body is not valid JSON'), text)
  }
  if (!Array.isArray(value)) return parseEntry(value)
  if (value.length === 0) return refuse('A batch must not be empty')
  if (value.length > maxBatchSize) return refuse(`A batch has at most ${maxBatchSize} messages`)
  return { batch: value.map(parseEntry) }
}

/** Bytes that are read of either end of a body that is too large, and characters there in which an id is searched. */
export const endBytes = 1024

/**
 * Returns the error for a body that cannot be read: one that is too large, not UTF-8 or not JSON. The call that waits for a response in it
 * fails.
 *
 * @param text its first and last characters, or all
 */
export function unreadableBody(malformed: McpError, text: string): Parsed {
  const id = responseIdAtEnds(text)
  return { malformed, responseIds: id === undefined ? [] : [id] }
}

// Other members than the result are short.
const beforeResult = /^\s*{(?:\s*"(?:jsonrpc|id)"\s*:\s*"[\w.-]{1,64}"\s*,)*\s*"(?:result|error)"\s*:/
const afterResult = /(?:,\s*"(?:jsonrpc|id)"\s*:\s*"[\w.-]{1,64}"\s*)*}\s*$/

/** Returns the id of a response, from the text before and after its result: texts in a result have escaped quotes. */
function responseIdAtEnds(text: string): string | undefined {
  const start = beforeResult.exec(text.slice(0, endBytes))
  const end = afterResult.exec(text.slice(-endBytes))
  return start ? /"id"\s*:\s*"(.*?)"/.exec(`${start}${end}`)?.[1] : undefined
}

/** Every message of a body that could be read, refused ones included. */
export function messagesIn(parsed: Parsed): Message[] {
  if ('batch' in parsed) return parsed.batch.flatMap(messagesIn)
  const message = 'message' in parsed ? parsed.message : parsed.refusedMessage
  return message ? [message] : []
}

/** The ids of all responses in a body, malformed ones included. */
export function responseIdsIn(parsed: Parsed): RequestId[] {
  if ('batch' in parsed) return parsed.batch.flatMap(responseIdsIn)
  if ('malformed' in parsed) return parsed.responseIds ?? []
  return isResponse(parsed.message) ? responseIdOf(parsed.message) : []
}

function parseEntry(value: unknown): Exclude<Parsed, { batch: unknown }> {
  const entry = shape(value)
  return 'malformed' in entry ? { ...entry, responseIds: responseIdOf(value) } : entry
}

function shape(value: unknown): Exclude<Parsed, { batch: unknown }> {
  if (!isObject(value)) return refuse('A JSON-RPC message must be an object')
  const id = idOf(value)
  if (value.jsonrpc !== '2.0') return refuse('"jsonrpc" must be "2.0"', 'method' in value ? id : undefined)
  // An error about an unreadable request legitimately has a null or absent id; a request or result never has.
  const mayLackId = 'error' in value && value.id === null
  if ('id' in value && id === undefined && !mayLackId) {
    return refuse('"id" must be a string or a safe integer, not null or a fraction')
  }
  if ('method' in value) {
    if (typeof value.method !== 'string') return refuse('"method" must be a string', id)
    if ('result' in value || 'error' in value) return refuse('A message has a method or a result, not both', id)
    if ('params' in value && !isObject(value.params)) return refuse('"params" must be an object', id)
    return { message: value as unknown as Message } // each member of a request and a notification was checked
  }
  const isResult = 'result' in value
  if (!isResult && !('error' in value)) return refuse('A message needs a method, a result or an error', id)
  // From here on the id is one of ours: a refusal that repeated it could be taken for an answer to the client's own.
  if (isResult && 'error' in value) return refuse('A response has a result or an error, not both')
  if (isResult && id === undefined) return refuse('A response needs the id of its request')
  if (isResult && !isObject(value.result)) return refuse('"result" must be an object')
  if (!isResult && !isErrorBody(value.error)) {
    return refuse('"error" must be an object with an integer code and a message')
  }
  return { message: value as unknown as Message } // each member of a response was checked
}

const refuse = (message: string, id?: RequestId) => ({ malformed: new McpError('invalid_request', message), id })

export const isObject = (value: unknown): value is Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a value is a JSON-RPC id. Integers beyond 2^53 are not, because a response would repeat another number. */
export const isRequestId = (value: unknown): value is RequestId =>
  typeof value === 'string' || Number.isSafeInteger(value)

const idOf = (message: unknown) => (isObject(message) && isRequestId(message.id) ? message.id : undefined)

/** Returns the id of a response, however malformed; none for another message. */
function responseIdOf(message: unknown): RequestId[] {
  const id = idOf(message)
  const isOther = isObject(message) && 'method' in message && !('result' in message || 'error' in message)
  return id === undefined || isOther ? [] : [id]
}

const isErrorBody = (value: unknown) =>
  isObject(value) && Number.isInteger(value.code) && typeof value.message === 'string'

// Functions that write one message on one line

export const resultText = (id: RequestId, result: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, result })

/** Writes an error response. `id` is omitted when it could not be read: MCP forbids the `null` of JSON-RPC. */
export function errorText(
  id: RequestId | undefined,
  { message, data, ownCode }: McpError,
  { code }: ErrorNumbers,
): string {
  const write = (data: unknown) =>
    JSON.stringify({ jsonrpc: '2.0', id, error: { code: ownCode ?? code, message, data } })
  try {
    return write(data)
  } catch {
    return write('Has no JSON form')
  }
}

/** Writes an error response, with the HTTP status and the headers of the error. */
export const errorReply = (id: RequestId | undefined, error: McpError, numbers: ErrorNumbers) => ({
  status: numbers.status,
  text: errorText(id, error, numbers),
  headers: error.headers,
})

export const notificationText = ({ method, params }: Notification): string =>
  JSON.stringify({ jsonrpc: '2.0', method, params })

export const requestText = (id: RequestId, method: string, params: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })
