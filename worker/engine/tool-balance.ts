import type { Params, SamplingContent, SamplingMessage } from '../protocol/types.ts'

/** The messages of a sampling request. */
export const messagesOf = ({ messages }: Params): readonly SamplingMessage[] =>
  // `ctx.sample` and proxies check them; the request that a handler gives to `ctx.requestInput` is its own.
  messages as SamplingMessage[]

/**
 * Returns the problem of the tool calls in the messages of a sampling request; `undefined` without a problem. After a message with calls,
 * the next message is one of the user with exactly their results.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#tool-use-and-result-balance
 */
export function toolImbalance(params: Params): string | undefined {
  let open = new Set<string>()
  for (const [index, { role, content }] of messagesOf(params).entries()) {
    const at = `messages[${index}]`
    const items: SamplingContent[] = [content].flat()
    const results = items.filter((block) => block.type === 'tool_result').map((block) => block.toolUseId)
    const uses = items.filter((block) => block.type === 'tool_use').map((block) => block.id)
    if (uses.length > 0 && role !== 'assistant') return `${at} has a tool_use: only the assistant calls tools`
    if (results.length > 0 && role !== 'user') return `${at} has a tool_result: only the user gives results`
    if (results.length > 0 && results.length < items.length) return `${at} has other content beside tool_result`
    const [stray] = results.filter((id) => !open.delete(id))
    const [missing] = open
    if (missing !== undefined) return `${at} must have the tool_result of the tool_use "${missing}"`
    if (stray !== undefined)
      return `${at} has the tool_result "${stray}", which no tool_use of the message before is open for`
    open = new Set(uses)
    if (open.size < uses.length) return `${at} uses one id for several tool_use`
  }
  const [last] = open
  return last === undefined ? undefined : `The last message has the tool_use "${last}" without its tool_result`
}
