import type { Context } from '../../declarations/context.ts'
import type { Open, Registry, Server } from '../../declarations/server.ts'
import { McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params, Result } from '../../protocol/types.ts'
import type { Call, CallEnvironment, Outcome } from '../call.ts'

export type MethodContext = {
  readonly server: Server
  readonly call: Call
  readonly environment: CallEnvironment
  readonly context: Context
  /** Settles when the round ends before the handler does: input requests are open, or the handler or a response is at fault. */
  readonly roundEnded: Promise<Outcome>
  /** What the tool's handler threw, if the result says that the tool failed. */
  thrown?: unknown
}

export interface Method {
  /** The member of `params` that the header `Mcp-Name` repeats. */
  readonly named?: string
  /** Does this server have anything that the method could be about? */
  offered(registry: Registry, environment: Pick<CallEnvironment, 'updates'>): boolean
  /** What a request for something that a handle stands for takes, with the seals of its principal. Handles of others take nothing. */
  scopes?(params: Params, open: Open): Promise<readonly string[]>
  /** @throws McpError for everything the client is to be told as a JSON-RPC error */
  answer(context: MethodContext): Promise<Result>
}

/** @throws McpError `invalid_params` */
export function readText(params: Params, name: string, where = 'params'): string {
  const value = params[name]
  if (typeof value !== 'string') throw new McpError('invalid_params', `${where}.${name} must be a string`)
  return value
}

/** An object member; empty when it is absent. @throws McpError `invalid_params` */
export function readObject(params: Params, name: string, where = 'params'): Params {
  const value = params[name] ?? {}
  if (!isObject(value)) throw new McpError('invalid_params', `${where}.${name} must be an object`)
  return value
}

/** An object of texts; empty when it is absent. @throws McpError `invalid_params` */
export function readTexts(params: Params, name: string, where = 'params'): Record<string, string> {
  const value = readObject(params, name, where)
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') throw new McpError('invalid_params', `${where}.${name}.${key} must be a string`)
  }
  return value as Record<string, string>
}
