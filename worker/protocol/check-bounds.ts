/** Rejects messages with a member that exceeds its bound, before anything processes them. A response becomes an error response. */
import * as bounds from './bounds.ts'
import { errorTable, McpError } from './errors.ts'
import { isObject, isRequest, isResponse, type Message, type Parsed } from './jsonrpc.ts'
import type { Params } from './types.ts'
import { normalizeUri } from './uri.ts'

/**
 * Replaces each message that exceeds a bound by its error: a response, by an error response.
 *
 * @param characters of the parsed text: a text shorter than every bound needs no check
 */
export function measured(parsed: Parsed, characters: number): Parsed {
  if (characters <= shortest) return parsed
  if ('batch' in parsed) return { batch: parsed.batch.map((entry) => measuredEntry(entry, characters)) }
  return measuredEntry(parsed, characters)
}

/** The smallest of the bounds on one text or number of entries. */
const shortest = bounds.levelCharacters

type Entry = Exclude<Parsed, { batch: unknown }>

function measuredEntry(entry: Entry, characters: number): Entry {
  if ('malformed' in entry) return entry
  const { message } = entry
  if (isLong(message.id, bounds.idCharacters)) {
    const malformed = tooLong('invalid_request', 'id', `${message.id}`.length, bounds.idCharacters)
    return { malformed, refusedMessage: message }
  }
  try {
    if (isResponse(message)) measureResponse(message, characters)
    else measureParams(message.method, message.params ?? {}, characters)
    return entry
  } catch (thrown) {
    if (!(thrown instanceof McpError)) throw thrown
    // The call that waits for the response must not wait forever.
    if (isResponse(message)) {
      const error = { code: errorTable.out_of_bounds.code, message: thrown.message }
      return { message: { jsonrpc: '2.0', id: message.id, error } }
    }
    return { malformed: thrown, id: isRequest(message) ? message.id : undefined, refusedMessage: message }
  }
}

/** Members of `params`, whatever the method. */
const texts = Object.entries({
  uri: bounds.uriCharacters,
  name: bounds.nameCharacters,
  cursor: bounds.cursorCharacters,
  requestState: bounds.requestStateCharacters,
  taskId: bounds.taskIdCharacters,
  level: bounds.levelCharacters,
  protocolVersion: bounds.versionCharacters,
  requestId: bounds.idCharacters,
})

/** @throws McpError that names the member */
function measureParams(method: string, params: Params, characters: number): void {
  if (isLong(method, bounds.methodCharacters)) {
    throw tooLong('invalid_request', 'method', method.length, bounds.methodCharacters)
  }
  for (const [name, limit] of texts) measureText(params[name], `params.${name}`, limit)
  const { _meta: meta, ref, argument, context, inputResponses, notifications } = params
  if (isObject(meta)) {
    measureText(meta.progressToken, 'params._meta.progressToken', bounds.idCharacters)
    measureText(meta['io.modelcontextprotocol/protocolVersion'], 'the protocol version', bounds.versionCharacters)
    measureText(meta['io.modelcontextprotocol/logLevel'], 'the log level', bounds.levelCharacters)
    measureJson(meta, 'params._meta', bounds.metaCharacters, characters)
  }
  if (isObject(ref)) {
    measureText(ref.name, 'params.ref.name', bounds.nameCharacters)
    measureText(ref.uri, 'params.ref.uri', bounds.uriCharacters)
  }
  if (isObject(argument)) {
    measureText(argument.name, 'params.argument.name', bounds.nameCharacters)
    measureText(argument.value, 'params.argument.value', bounds.completionCharacters)
  }
  if (isObject(context) && isObject(context.arguments)) {
    const known = Object.entries(context.arguments)
    measureCount(known, 'params.context.arguments', bounds.completionArguments)
    for (const [name, value] of known) {
      measureText(name, 'a name in params.context.arguments', bounds.nameCharacters)
      measureText(value, 'a value in params.context.arguments', bounds.completionCharacters)
    }
  }
  if (isObject(inputResponses)) {
    const responses = Object.entries(inputResponses)
    measureCount(responses, 'params.inputResponses', bounds.inputResponses)
    for (const [key, response] of responses) {
      measureText(key, 'a key in params.inputResponses', bounds.nameCharacters)
      measureInputResponse(response, 'an entry of params.inputResponses', characters)
    }
  }
  if (isObject(notifications)) measureFilter(notifications)
}

function measureFilter({ resourceSubscriptions: uris, taskIds }: Params): void {
  if (Array.isArray(uris)) {
    const where = 'params.notifications.resourceSubscriptions'
    measureCount(uris, where, bounds.filterUris)
    let all = 0
    for (const uri of uris) {
      measureText(uri, `a URI in ${where}`, bounds.uriCharacters)
      if (typeof uri === 'string') all += normalizeUri(uri.toWellFormed()).length
    }
    if (all > bounds.filterCharacters) {
      throw tooLong('out_of_bounds', `all URIs of ${where}`, all, bounds.filterCharacters, 'percent-encoded characters')
    }
  }
  if (Array.isArray(taskIds)) {
    measureCount(taskIds, 'params.notifications.taskIds', bounds.filterTaskIds)
    for (const id of taskIds) measureText(id, 'an id in params.notifications.taskIds', bounds.taskIdCharacters)
  }
}

function measureResponse(message: Message, characters: number): void {
  if ('result' in message) measureInputResponse(message.result, 'result', characters)
  if ('error' in message) measureJson(message.error, 'error', bounds.inputResponseCharacters, characters)
}

function measureInputResponse(response: unknown, where: string, characters: number): void {
  if (isObject(response) && Array.isArray(response.roots)) {
    measureCount(response.roots, `${where}.roots`, bounds.roots)
    for (const root of response.roots) {
      if (!isObject(root)) continue
      measureText(root.uri, `a URI in ${where}.roots`, bounds.uriCharacters)
      measureText(root.name, `a name in ${where}.roots`, bounds.nameCharacters)
    }
  }
  measureJson(response, where, bounds.inputResponseCharacters, characters)
}

const isLong = (value: unknown, limit: number): value is string => typeof value === 'string' && value.length > limit

function measureText(value: unknown, where: string, limit: number): void {
  if (isLong(value, limit)) throw tooLong('out_of_bounds', where, value.length, limit)
}

function measureCount(entries: readonly unknown[], where: string, limit: number): void {
  if (entries.length > limit) throw tooLong('out_of_bounds', where, entries.length, limit, 'entries')
}

/** Maximum ratio of JSON to the text that it was parsed from: `1e20` becomes 21 digits. */
const longestGrowth = 6

/** @param characters of the whole text that the value was parsed from */
function measureJson(value: unknown, where: string, limit: number, characters: number): void {
  if (longestGrowth * characters <= limit) return
  const { length } = JSON.stringify(value)
  if (length > limit) throw tooLong('out_of_bounds', where, length, limit, 'characters of JSON')
}

const tooLong = (
  kind: 'invalid_request' | 'out_of_bounds',
  where: string,
  size: number,
  limit: number,
  unit = 'characters',
): McpError => new McpError(kind, `${where} has ${size} ${unit}: this server accepts at most ${limit}`)
