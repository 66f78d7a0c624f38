import type { Declarations } from '../declarations/declarations.ts'
import { markReported } from '../protocol/errors.ts'
import type { JsonSchema, Params, RequestId, Result } from '../protocol/types.ts'
import type { Call } from './call.ts'
import { noSignal, reportFailure, stepError } from './failure.ts'
import { mapByVersion } from './map-by-version.ts'
import { cacheableResults } from './methods/lists.ts'
import type { Target } from './methods/method.ts'
import { instead, limitOf, type ResultLimit, resultTooLarge } from './result-size.ts'

/** How a response is serialized. */
type Serialization = {
  /** Logs a problem. */
  readonly report: (problem: unknown) => void
  /** Adds to the result. Default: nothing. */
  readonly sign?: ((result: Result) => Result) | undefined
  /** A limit besides `limits.maxResultBytes`. */
  readonly limit?: ResultLimit | undefined
}

/**
 * Serializes a response. A list that is the same for every caller is serialized once for each protocol version. A tool whose result is too
 * large has an error result, which the model reads.
 *
 * @throws McpError for another result that is too large
 */
export function serializeResult(
  id: RequestId,
  declarations: Declarations,
  { call, target }: { readonly call: Call; readonly target: Target },
  result: Result,
  { report, sign = (result) => result, limit }: Serialization,
): string {
  const { method, params, revision } = call
  const key = cacheableResults.has(result) && method + revision.date
  const texts = key ? listTextsOf(declarations) : undefined
  const outputSchema = method === 'tools/call' ? outputSchemaOf(declarations, target, params) : undefined
  const write = (result: Result) => {
    try {
      return JSON.stringify(sign(revision.result(method, result, { outputSchema })))
    } catch (thrown) {
      throw stepError(declarations, call, noSignal, thrown)
    }
  }
  let text = (key && texts?.get(key)) || write(result)
  if (key) texts?.set(key, text)
  const tooLarge = resultTooLarge(call, text, limitOf(declarations, call, limit))
  if (tooLarge) {
    if (!reportFailure(declarations, call, noSignal, tooLarge)) report(tooLarge)
    text = write(instead(call, markReported(tooLarge)))
  }
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`
}

/** Returns the output schema with which a called tool is listed, declared here or on an upstream. */
function outputSchemaOf({ forwarded }: Declarations, { found }: Target, params: Params): JsonSchema | undefined {
  const { tool } = found
  if (tool) return tool.item.outputSchema
  for (const server of forwarded) {
    const schema = server.outputSchemaOf?.(params)
    if (schema) return schema
  }
  return undefined
}

/** Lists that are the same for every caller, as texts, by method and protocol version. */
const listTextsOf = mapByVersion<string>()
