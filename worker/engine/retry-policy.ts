import type { Registry } from '../declarations/server.ts'
import type { RequestMessage } from '../protocol/jsonrpc.ts'
import type { Params } from '../protocol/types.ts'

/** May a request be run again when nobody knows how far it came? Reading may; a tool says so by its hints. */
export function isSafeToRetry({ tools }: Registry, { method, params }: RequestMessage): boolean {
  if (method !== 'tools/call') return true
  const { readOnlyHint, idempotentHint } = tools.get(String(params?.name))?.item.annotations ?? {}
  return readOnlyHint === true || idempotentHint === true
}

/** Must a round of this call be answered once, however often it is sent? */
export const isSingleUse = ({ tools }: Registry, { method, params }: { method: string; params: Params }): boolean =>
  method === 'tools/call' && tools.get(String(params.name))?.singleUse === true
