/** Content blocks that a plugin replaces before a result is sent, such as those of `storedResult()`. */
import { DeveloperError } from '../protocol/errors.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { ResourceLink, Result } from '../protocol/types.ts'

/** A copy as JSON has it, too. */
const pendingUri = 'result:pending'

/** Releases what a block holds. A spread copies it. */
const release = Symbol('release')

/** @param discard releases what the block holds, when nothing replaces it */
export const pendingBlock = (name: string, discard: () => Promise<void>): ResourceLink =>
  Object.assign<ResourceLink, object>({ type: 'resource_link', uri: pendingUri, name }, { [release]: discard })

/**
 * Refuses a result whose pending content nothing has replaced, and releases what the content holds.
 *
 * @returns nothing to wait for, for a result without pending content
 * @throws DeveloperError
 */
export function refusePendingContent({ content, messages }: Result): Promise<never> | undefined {
  const inMessages = Array.isArray(messages) ? messages.map((message) => isObject(message) && message.content) : []
  const blocks = Array.isArray(content) ? [...content, ...inMessages] : inMessages
  const pending = blocks.filter((block) => isObject(block) && block.uri === pendingUri)
  return pending.length > 0 ? refuse(pending) : undefined
}

async function refuse(pending: readonly object[]): Promise<never> {
  for (const block of pending) {
    const discard: unknown = Reflect.get(block, release)
    if (typeof discard === 'function') await discard()
  }
  throw new DeveloperError(
    'The content of storedResult() was not stored: return the block itself, no copy of it, from a tool, and add resultStore() to the plugins of this endpoint',
  )
}
