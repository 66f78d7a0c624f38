/** What clients answer to questions: `undefined` for what is no such answer. */

import type { SamplingResult, UrlElicitationResult } from '../declarations/context.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { CreateMessageResult, Root } from '../protocol/types.ts'

export function readVisited(result: unknown): UrlElicitationResult | undefined {
  const action = isObject(result) ? result.action : undefined
  return action === 'accept' || action === 'decline' || action === 'cancel' ? { action } : undefined
}

export function readSampled(result: unknown): SamplingResult | undefined {
  if (!isObject(result) || typeof result.role !== 'string' || typeof result.model !== 'string') return undefined
  const content = Array.isArray(result.content) ? result.content : [result.content]
  if (!content.every(isSampledBlock)) return undefined
  const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')
  return { ...(result as unknown as CreateMessageResult), text }
}

const isSampledBlock = (block: unknown) =>
  isObject(block) && typeof block.type === 'string' && (block.type !== 'text' || typeof block.text === 'string')

export function readRoots(result: unknown): Root[] | undefined {
  if (!isObject(result) || !Array.isArray(result.roots)) return undefined
  return result.roots.every((root) => isObject(root) && typeof root.uri === 'string') ? result.roots : undefined
}
