import { McpError } from '../../worker/protocol/errors.ts'
import type { TaskError } from './rpc.ts'

/** Converts an error into its stored form. */
export const errorOf = ({ kind, message, data }: McpError): TaskError => ({ kind, message, data })

/** The error for a client that sends input responses after the call was deleted. */
export const callExpired = (): McpError =>
  new McpError('call_interrupted', 'The call has expired: its answers arrived too late. Call again', {
    reason: 'lapsed',
    retryable: false,
  })

/** The error for an input request that has timed out. */
export const inputTimedOut = (): McpError =>
  new McpError('call_interrupted', 'Timed out waiting for input', { reason: 'timeout', retryable: true })
