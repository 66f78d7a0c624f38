import type { Declarations } from '../declarations/declarations.ts'
import type { RequestMessage } from '../protocol/jsonrpc.ts'
import type { Params } from '../protocol/types.ts'

/** Whether a request may run again after it was interrupted: a request that only reads, or a tool whose annotations allow it. */
export function isSafeToRetry({ tools }: Declarations, { method, params }: RequestMessage): boolean {
  if (method !== 'tools/call') return true
  const { readOnlyHint, idempotentHint } = tools.get(String(params?.name))?.item.annotations ?? {}
  return readOnlyHint === true || idempotentHint === true
}

/** Whether each round of the call runs once, however often the client sends it. */
export const isSingleUse = ({ tools }: Declarations, { method, params }: { method: string; params: Params }): boolean =>
  method === 'tools/call' && tools.get(String(params.name))?.singleUse === true
