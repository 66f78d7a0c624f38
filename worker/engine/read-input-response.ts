/** Reads the results of input responses. Returns `undefined` for a result of another shape. */

import type { FormResult, SamplingResult, UrlElicitationResult } from '../declarations/context.ts'
import { issuesText, type Validator } from '../declarations/schema.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { CreateMessageResult, Root } from '../protocol/types.ts'
import { InvalidInputResponse } from './invalid-input-response.ts'

/** @throws InvalidInputResponse for content that does not match the schema of the form */
export async function readFormResult(
  key: string,
  form: Validator,
  result: unknown,
): Promise<FormResult<unknown> | undefined> {
  if (!isObject(result)) return undefined
  if (result.action === 'decline' || result.action === 'cancel') return { action: result.action }
  if (result.action !== 'accept') return undefined
  const checked = await form.check(result.content ?? {})
  if ('value' in checked) return { action: 'accept', content: checked.value }
  throw new InvalidInputResponse(key, `The answer to "${key}" does not fit its schema: ${issuesText(checked.issues)}`)
}

export function readUrlResult(result: unknown): UrlElicitationResult | undefined {
  const action = isObject(result) ? result.action : undefined
  return action === 'accept' || action === 'decline' || action === 'cancel' ? { action } : undefined
}

export function readSamplingResult(result: unknown): SamplingResult | undefined {
  if (!isObject(result) || typeof result.role !== 'string' || typeof result.model !== 'string') return undefined
  const content = Array.isArray(result.content) ? result.content : [result.content]
  if (!content.every(isSampledBlock)) return undefined
  const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')
  // It has the members that a result must have. What its blocks hold is as the client sent it.
  return { ...(result as unknown as CreateMessageResult), text }
}

const isSampledBlock = (block: unknown) =>
  isObject(block) && typeof block.type === 'string' && (block.type !== 'text' || typeof block.text === 'string')

export function readRootsResult(result: unknown): Root[] | undefined {
  if (!isObject(result) || !Array.isArray(result.roots)) return undefined
  return result.roots.every((root) => isObject(root) && typeof root.uri === 'string') ? result.roots : undefined
}
