import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'

/** Lower-case hexadecimal, of 16 and 8 bytes. */
export type Trace = {
  readonly traceId: string
  /** Of the caller's span. */
  readonly spanId: string
  readonly sampled: boolean
  /** As it came. */
  readonly state: string | undefined
}

/**
 * The trace that a call is a part of. Anybody may claim any.
 *
 * @returns `undefined` when the client says nothing of it, or not in the form of the standard
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 * @see https://modelcontextprotocol.io/seps/414-request-meta
 */
export function traceOf({ _meta }: Params): Trace | undefined {
  const { traceparent, tracestate } = isObject(_meta) ? _meta : {}
  const [, version, traceId = '', spanId = '', flags = ''] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/.exec(String(traceparent)) ?? []
  if (!version || version === 'ff' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  const sampled = Number.parseInt(flags, 16) % 2 === 1
  return { traceId, spanId, sampled, state: typeof tracestate === 'string' ? tracestate : undefined }
}
