import type { Declarations } from '../declarations/declarations.ts'
import type { RequestId, Result } from '../protocol/types.ts'
import type { Call } from './call.ts'
import { stepError } from './failure.ts'
import { cacheableResults } from './methods/lists.ts'

/** Serializes a response. @throws McpError for a result without JSON form: see `stepError`. A list that is the same for every caller is serialized once for each protocol version. */
export function serializeResult(
  id: RequestId,
  declarations: Declarations,
  call: Call,
  result: Result,
  sign = (result: Result) => result,
): string {
  const { method, params, revision } = call
  const key = cacheableResults.has(result) && method + revision.date
  const texts = key ? listTextsOf(declarations) : undefined
  let text = key && texts?.get(key)
  if (!text) {
    const { outputSchema } = (method === 'tools/call' && declarations.tools.get(String(params.name))?.item) || {}
    try {
      text = JSON.stringify(sign(revision.result(method, result, { outputSchema })))
    } catch (thrown) {
      throw stepError(declarations, call, () => new AbortController().signal, thrown)
    }
    if (key) texts?.set(key, text)
  }
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`
}

type ListTexts = { readonly version: number; readonly texts: Map<string, string> }

/** Lists that are the same for every caller, as texts, by method and protocol version. */
const listTexts = new WeakMap<Declarations, ListTexts>()

function listTextsOf(declarations: Declarations): Map<string, string> {
  const cached = listTexts.get(declarations)
  if (cached?.version === declarations.version) return cached.texts
  const texts = new Map<string, string>()
  listTexts.set(declarations, { version: declarations.version, texts })
  return texts
}
