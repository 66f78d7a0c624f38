/** Which content blocks of a large result are stored: the largest ones one by one, then as many as necessary as one list. */
import { decodeBase64 } from '../../protocol/base64.ts'
import type { ContentBlock } from '../../protocol/types.ts'
import { type Candidate, sizeOfAll } from './block-size.ts'
import type { Pending } from './stored-result.ts'

/** Blocks of one result that are stored one by one, at most. */
const maxSingleBlocks = 8

/** What takes the place of blocks. */
export type Replacements = Map<ContentBlock, readonly ContentBlock[]>

export type Content = Pick<Pending, 'source' | 'mimeType'> & { readonly name?: string | undefined }

/** Stores content, and writes the preview and the link that take its place. */
export type LinkWriter = {
  /** Bytes of a result that fits. */
  readonly overBytes: number
  /** Returns the bytes of a preview and a link. */
  linkBytes(content: Content): number
  /** Bytes of a preview and a link, at most. */
  readonly maxLinkBytes: number
  /** Stores content of a number of bytes. Returns `undefined` if the bucket fails, or the link would be larger. */
  replace(content: Content, bytes: number): Promise<readonly ContentBlock[] | undefined>
}

/**
 * Stores blocks until the rest fits.
 *
 * @param left the blocks that may be stored
 * @param bytes of the whole result
 * @param stored gets what takes the place of each stored block
 * @returns the bytes of the result now; `undefined` if the bucket failed
 */
export async function storeBlocks(
  left: readonly Candidate[],
  bytes: number,
  stored: Replacements,
  { overBytes, linkBytes, maxLinkBytes, replace }: LinkWriter,
): Promise<number | undefined> {
  const candidates = left.filter(({ block }) => block.type !== 'resource_link')
  candidates.sort((one, other) => other.bytes - one.bytes)
  let now = bytes
  let from = 0
  for (; from < maxSingleBlocks; from += 1) {
    const candidate = candidates[from]
    const content = candidate && now > overBytes && contentOf(candidate.block)
    // A block that is not much larger than its preview and link is stored together with others.
    if (!content || candidate.bytes < 2 * linkBytes(content)) break
    const links = await replace(content, candidate.bytes)
    if (!links) return undefined
    stored.set(candidate.block, links)
    now += sizeOfAll(links) - candidate.bytes
  }
  const group = new Set<ContentBlock>()
  let size = 0
  for (const { block, bytes: more } of candidates.slice(from)) {
    // The place that the preview and the link of the group take.
    if (now - size + maxLinkBytes <= overBytes) break
    group.add(block)
    size += more
  }
  const [first, ...others] = left.map(({ block }) => block).filter((block) => group.has(block))
  if (!first || now <= overBytes) return now
  const together = { source: JSON.stringify([first, ...others]), mimeType: 'application/json' }
  const single = others.length === 0 ? contentOf(first) : undefined
  const content = single ?? together
  if (linkBytes(content) >= size) return now
  const links = await replace(content, size)
  if (!links) return undefined
  stored.set(first, links)
  for (const block of others) stored.set(block, [])
  return now - size + sizeOfAll(links)
}

/** Returns what is stored of a block; `undefined` for a link, and for data that is not base64. */
function contentOf(block: ContentBlock): Content | undefined {
  if (block.type === 'text') return { source: block.text, mimeType: 'text/plain' }
  if (block.type === 'image' || block.type === 'audio') return decoded(block.data, block.mimeType)
  if (block.type !== 'resource') return undefined
  const { resource } = block
  const { uri: name, mimeType } = resource
  if ('text' in resource) return { source: resource.text, mimeType: mimeType ?? 'text/plain', name }
  return decoded(resource.blob, mimeType ?? 'application/octet-stream', name)
}

function decoded(data: string, mimeType: string, name?: string): Content | undefined {
  try {
    return { source: decodeBase64(data), mimeType, name }
  } catch {
    return undefined
  }
}
