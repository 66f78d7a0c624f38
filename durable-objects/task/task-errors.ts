import { McpError } from '../../worker/protocol/errors.ts'
import { newestStateless } from '../../worker/protocol/revisions/index.ts'
import type { TaskError } from '../rpc.ts'

/** An error as it is stored. */
export const errorOf = ({ kind, message, data }: McpError): TaskError => ({
  kind,
  code: newestStateless.error(kind).code,
  message,
  data,
})

/** A client has sent its answers after the call was deleted. */
export const callExpired = (): McpError =>
  new McpError('call_interrupted', 'The call has expired: its answers arrived too late. Call again', {
    reason: 'lapsed',
    retryable: false,
  })

/** A question has waited for longer than its timeout. */
export const inputTimedOut = (): McpError =>
  new McpError('call_interrupted', 'Timed out waiting for input', { reason: 'timeout', retryable: true })
