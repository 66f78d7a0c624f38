import type { Registry } from '../declarations/server.ts'
import type { RequestId, Result } from '../protocol/types.ts'
import type { Call } from './call.ts'
import { cacheableResults } from './methods/lists.ts'

/** The text of an answer. A list that everybody sees is written once for each revision. */
export function serializeResult(
  id: RequestId,
  { listTextCache: listTexts, tools }: Registry,
  { method, params, revision }: Call,
  result: Result,
  sign = (result: Result) => result,
): string {
  const key = cacheableResults.has(result) && method + revision.date
  let text = key && listTexts.get(key)
  if (!text) {
    const { outputSchema } = (method === 'tools/call' && tools.get(String(params.name))?.item) || {}
    text = JSON.stringify(sign(revision.result(method, result, { outputSchema })))
    if (key) listTexts.set(key, text)
  }
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`
}
