/** The functions with which handlers construct full results: `toolResult`, `toolError`, `promptResult`, `resourceResult`. */
import { nameOf } from '../protocol/json-text.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { CallToolResult, GetPromptResult, ReadResourceResult } from '../protocol/types.ts'
import { checkValue, isPlain } from './check-options.ts'
import { isBlock, isContents, text } from './content.ts'
import * as kind from './option-kinds.ts'

/**
 * Creates a tool result with `isError: true`. The model reads the message and can call the tool again with other arguments.
 *
 * @throws Error for a message that is no string, such as an `Error`
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling
 *
 * @example
 * server.tool('divide', { description: 'Divide a by b', inputSchema: z.object({ a: z.number(), b: z.number() }) },
 *   ({ a, b }) => (b === 0 ? toolError('b must not be 0') : String(a / b)))
 */
export function toolError(message: string): CallToolResult {
  checkValue('toolError()', 'message', message, kind.string)
  return toolResults.add({ content: [text(message)], isError: true })
}

/** Converts the value that a handler threw into a tool result with `isError: true`. */
export function failureOf(thrown: unknown): CallToolResult {
  let message: unknown
  try {
    message = thrown instanceof Error && thrown.message
  } catch {
    // A proxy or a getter can throw.
  }
  return toolError(typeof message === 'string' && message !== '' ? message : 'The tool failed')
}

export const toolResultMembers = ['content', 'structuredContent', 'isError', '_meta'] as const
export const promptResultMembers = ['description', 'messages', '_meta'] as const
export const resourceResultMembers = ['contents', '_meta'] as const

/** Results that a constructor function such as `toolResult` made. Data cannot imitate membership. */
function madeResults<R extends object>() {
  const results = new WeakSet<object>()
  return {
    add(result: R): R {
      results.add(result)
      return result
    },
    has: (value: unknown): value is R => isObject(value) && results.has(value),
  }
}

export const toolResults = madeResults<CallToolResult>()
export const promptResults = madeResults<GetPromptResult>()
export const resourceResults = madeResults<ReadResourceResult>()

/**
 * Creates a full tool result, for a handler to return. `content` defaults to an empty list.
 *
 * @param result `content`, `structuredContent`, `isError` and `_meta`, all optional
 * @throws TypeError for a value that is no plain object, for any other member, and for `content` that is not a list of content blocks
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result
 *
 * @example
 * server.tool('sold', { description: 'Count the sales' }, () =>
 *   toolResult({ content: [text('Sold 3.')], structuredContent: { sold: 3 }, _meta: { 'example.com/view': 'table' } }))
 */
export function toolResult(result: Partial<CallToolResult>): CallToolResult {
  const { content = [], ...members } = taken('toolResult', result, toolResultMembers)
  refuseUnless(kind.isListOf(content, isBlock), 'toolResult() needs a list of content blocks as "content"')
  refuseUnless(typeof (members.isError ?? false) === 'boolean', 'toolResult() needs a boolean as "isError"')
  return toolResults.add({ content, ...members })
}

/**
 * Creates a full prompt result, for a handler to return. `description` defaults to that of the prompt.
 *
 * @param result `messages`, and optionally `description` and `_meta`
 * @throws TypeError for a value that is no plain object, for any other member, and for `messages` that is not a list
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#getting-a-prompt
 *
 * @example
 * server.prompt('review', { description: 'Review code' }, () =>
 *   promptResult({ description: 'A short review', messages: [{ role: 'user', content: text('Review my code.') }] }))
 */
export function promptResult(result: GetPromptResult): GetPromptResult {
  const checked = taken('promptResult', result, promptResultMembers)
  refuseUnless(Array.isArray(checked.messages), 'promptResult() needs a list as "messages"')
  return promptResults.add(checked)
}

/**
 * Creates a full resource result, for a handler to return.
 *
 * @param result `contents`, and optionally `_meta`; each of the contents has `uri`, and `text` or `blob` (base64)
 * @throws TypeError for a value that is no plain object, for any other member, and for contents without `uri`, or without `text` or
 * `blob`
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources#reading-resources
 *
 * @example
 * server.resource('note://1', { description: 'A note' }, (_, ctx) =>
 *   resourceResult({ contents: [{ uri: ctx.uri, text: 'Buy milk' }], _meta: { 'example.com/color': 'blue' } }))
 */
export function resourceResult(result: ReadResourceResult): ReadResourceResult {
  const checked = taken('resourceResult', result, resourceResultMembers)
  const problem = 'resourceResult() needs a list of { uri, text } or { uri, blob } as "contents"'
  refuseUnless(kind.isListOf(checked.contents, isContents), problem)
  return resourceResults.add(checked)
}

/**
 * Checks the members of a result, and removes `resultType: 'complete'`, which results of other servers have.
 *
 * @throws TypeError for any other member, and for what is no plain object: a promise has no members, as has {}
 */
function taken<R extends object>(maker: string, result: R, names: readonly string[]): R {
  if (!isObject(result) || !isPlain(result)) {
    // A caller in JavaScript can pass one.
    const fix = (result as unknown) instanceof Promise ? `: write ${maker}(await …)` : ''
    throw new TypeError(`${maker}() takes an object with ${listOf(names)}, not ${kindOf(result)}${fix}`)
  }
  const { resultType, ...members } = result
  const other =
    resultType === undefined || resultType === 'complete'
      ? Object.keys(members).find((name) => !names.includes(name))
      : 'resultType'
  if (other !== undefined) throw new TypeError(`${maker}() does not take "${other}": it takes ${listOf(names)}`)
  const { _meta } = result
  refuseUnless(isObject(_meta ?? {}), `${maker}() needs an object as "_meta"`)
  return members as unknown as R // resultType is no member of R
}

function refuseUnless(isRight: boolean, problem: string): void {
  if (!isRight) throw new TypeError(problem)
}

const listOf = (names: readonly string[]): string => `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/** Describes the type of a value for error messages, with an article. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'a list'
  if (typeof value !== 'object') return `a ${typeof value}`
  if (value instanceof Uint8Array) return 'bytes'
  if (!isPlain(value)) return nameOf(value)
  return `an object with the members ${Object.keys(value).slice(0, 10).join(', ') || '(none)'}`
}
