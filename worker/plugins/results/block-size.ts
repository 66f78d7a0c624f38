/** The bytes of content blocks as JSON. */
import type { ContentBlock } from '../../protocol/types.ts'
import { utf8 } from '../../protocol/utf8.ts'

/** Content that may be stored, and the block that it is now. */
export type Candidate = { readonly block: ContentBlock; readonly bytes: number }

export const sizeOf = (value: string): number => (value.length > 0 ? utf8(value).byteLength : 0)

export const jsonSize = (value: unknown): number => sizeOf(JSON.stringify(value))

export const sizeOfAll = (blocks: readonly ContentBlock[]): number =>
  blocks.reduce((sum, block) => sum + jsonSize(block), 0)

/** Measures a block. The long member is not copied into JSON. */
export function measured(block: ContentBlock): Candidate {
  if (block.type === 'text') return { block, bytes: sizeOf(block.text) + jsonSize({ ...block, text: '' }) }
  if (block.type === 'image' || block.type === 'audio') {
    return { block, bytes: sizeOf(block.data) + jsonSize({ ...block, data: '' }) }
  }
  if (block.type !== 'resource') return { block, bytes: jsonSize(block) }
  const { resource } = block
  const long = 'text' in resource ? resource.text : resource.blob
  const short = 'text' in resource ? { ...resource, text: '' } : { ...resource, blob: '' }
  return { block, bytes: sizeOf(long) + jsonSize({ ...block, resource: short }) }
}
