/**
 * The reserved keys of `_meta`, and the envelope of every 2026-07-28 request.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta
 */
import { McpError } from './errors.ts'
import { isObject, isRequestId } from './jsonrpc.ts'
import type { ClientCapabilities, Implementation, LogLevel, Params, RequestId } from './types.ts'
import { logLevels } from './types.ts'

export const protocolVersionKey = 'io.modelcontextprotocol/protocolVersion'
export const clientCapabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'
export const clientInfoKey = 'io.modelcontextprotocol/clientInfo'
export const logLevelKey = 'io.modelcontextprotocol/logLevel'
export const relatedTaskKey = 'io.modelcontextprotocol/related-task'
export const serverInfoKey = 'io.modelcontextprotocol/serverInfo'
export const subscriptionIdKey = 'io.modelcontextprotocol/subscriptionId'

/** Describes the client of one request. */
export type Envelope = {
  capabilities: ClientCapabilities
  client?: Implementation
  logLevel?: LogLevel
}

export const metaOf = (params: Params | undefined): Params | undefined =>
  isObject(params?._meta) ? params._meta : undefined

/** Returns the protocol version in the envelope of a request; `undefined` without one. */
export const claimedVersion = (params: Params | undefined): unknown => metaOf(params)?.[protocolVersionKey]

/**
 * Reads the envelope of a stateless request.
 *
 * @throws McpError `invalid_envelope` naming the key that is missing or has the wrong type
 */
export function readEnvelope(params: Params | undefined): Envelope & { version: string } {
  const meta = metaOf(params)
  if (!meta) throw new McpError('invalid_envelope', 'Missing params._meta')
  const version = meta[protocolVersionKey]
  if (typeof version !== 'string') throw missing(protocolVersionKey, 'a string')
  const capabilities = meta[clientCapabilitiesKey]
  if (!isObject(capabilities)) throw missing(clientCapabilitiesKey, 'an object')
  const client = meta[clientInfoKey]
  if (client !== undefined && !isImplementation(client)) throw missing(clientInfoKey, 'an object with name and version')
  const logLevel = meta[logLevelKey]
  if (logLevel !== undefined && !isLogLevel(logLevel)) throw missing(logLevelKey, `one of ${logLevels.join(', ')}`)
  progressToken(params)
  return { version, capabilities, client, logLevel }
}

/** Returns the progress token of a request. */
export function progressToken(params: Params | undefined): RequestId | undefined {
  const token = metaOf(params)?.progressToken
  if (token === undefined || isRequestId(token)) return token
  throw new McpError('invalid_params', 'params._meta.progressToken must be a string or an integer')
}

export const isLogLevel = (value: unknown): value is LogLevel => logLevels.some((level) => level === value)

/** Whether a client that set the least severe level `least` receives messages of a level. */
export const includesLevel = (least: LogLevel, level: LogLevel): boolean =>
  logLevels.indexOf(level) >= logLevels.indexOf(least)

/** The least severe level of sessions whose client sets none. */
export const defaultLogLevel: LogLevel = 'info'

export const isImplementation = (value: unknown): value is Implementation =>
  isObject(value) && typeof value.name === 'string' && typeof value.version === 'string'

const missing = (key: string, shape: string) =>
  new McpError('invalid_envelope', `params._meta["${key}"] must be ${shape}`)
