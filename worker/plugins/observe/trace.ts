import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'

/**
 * Identifies a trace and a span of a client. Ids are lower-case hexadecimal.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export type Trace = {
  /** Id of the trace: 16 bytes. */
  readonly traceId: string
  /** Id of the caller's span: 8 bytes. */
  readonly spanId: string
  /** Whether the caller records the trace. */
  readonly sampled: boolean
  /** `tracestate`, unchanged; `undefined` without it. */
  readonly state: string | undefined
}

/**
 * Returns the trace that a call belongs to, as the client states it in `_meta`. It is not authenticated.
 *
 * @returns `undefined` without `traceparent`, and for one that is malformed
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
