/** Replaces large content of one result by links to R2. */
import { resourceLink, text } from '../../declarations/content.ts'
import type { CallInfo } from '../../declarations/interceptor.ts'
import { paramsOfRun } from '../../engine/interceptors.ts'
import { scopesOf } from '../../engine/required-scopes.ts'
import type { Runtime } from '../../plugin.ts'
import { decodeBase64 } from '../../protocol/base64.ts'
import type { CallToolResult, ContentBlock, Params } from '../../protocol/types.ts'
import { utf8 } from '../../protocol/utf8.ts'
import { isTextType, uriOf } from './read-result.ts'
import type { Settings } from './result-store.ts'
import { headBytes, keyOf, ownerOf, randomId, type Stored, store } from './stored-object.ts'
import { cancelStreams, type Pending, pendingOf } from './stored-result.ts'

/** Content that may be stored, and the block that it is now. */
type Candidate = { readonly block: ContentBlock; readonly bytes: number }

/** What takes the place of blocks. */
export type Replacements = Map<ContentBlock, readonly ContentBlock[]>

type Content = Pick<Pending, 'source' | 'mimeType'> & { readonly name?: string | undefined }

/** Stores content of one result. */
export class ResultWriter {
  readonly #runtime: Runtime
  readonly #settings: Settings
  readonly #call: CallInfo
  /** Of what is stored. */
  readonly #keys: string[] = []

  constructor(runtime: Runtime, settings: Settings, call: CallInfo) {
    this.#runtime = runtime
    this.#settings = settings
    this.#call = call
  }

  /**
   * Stores what `storedResult()` returned. If that fails, nothing of the result stays in the bucket.
   *
   * @throws what a stream, or the bucket, throws; the reason of the signal for a canceled call
   */
  async storePending({ content }: CallToolResult): Promise<Replacements> {
    const stored: Replacements = new Map()
    const { signal } = this.#call
    try {
      for (const block of content) {
        const pending = pendingOf(block)
        if (pending) stored.set(block, await this.#store(pending))
        if (pending) signal.throwIfAborted()
      }
      return stored
    } catch (problem) {
      await cancelStreams(content.flatMap((block) => pendingOf(block) ?? []))
      if (this.#keys.length > 0)
        await this.#settings
          .bucket()
          .delete(this.#keys)
          .catch((failure) => this.#runtime.report(failure))
      throw problem
    }
  }

  /** Returns the result itself if it fits. @param stored what is stored of it already; it gets what else is stored */
  async shrink<R extends CallToolResult>(result: R, stored: Replacements): Promise<R> {
    const structured = result.structuredContent === undefined ? '' : JSON.stringify(result.structuredContent)
    const left = result.content.filter((block) => !stored.has(block)).map(measured)
    const linked = [...stored.values()].flat().reduce((sum, block) => sum + jsonSize(block), 0)
    const bytes = left.reduce((sum, candidate) => sum + candidate.bytes, sizeOf(structured)) + linked
    const changed: { structuredContent?: undefined } = {}
    const added: ContentBlock[] = []
    if (bytes > this.#settings.overBytes) {
      const rest = await this.#fit(left, bytes, stored)
      const mayMove = structured !== '' && this.#hasNoOutputSchema()
      // toolResult() without content has written the structured content as text.
      const isStored = [...stored.keys()].some((block) => block.type === 'text' && block.text === structured)
      if (rest !== undefined && rest > this.#settings.overBytes && mayMove) {
        const content = { source: structured, mimeType: 'application/json' }
        const links = isStored ? [] : await this.#replace(content, sizeOf(structured))
        if (links) {
          added.push(...links)
          changed.structuredContent = undefined
        }
      }
    }
    if (stored.size === 0 && added.length === 0) return result
    const content = [...result.content.flatMap((block) => stored.get(block) ?? block), ...added]
    return { ...result, ...changed, content }
  }

  /**
   * Stores blocks until the rest fits: the largest ones one by one, then as many as necessary together.
   *
   * @param stored gets what takes the place of each stored block
   * @returns the bytes of the result now; `undefined` if the bucket failed
   */
  async #fit(left: readonly Candidate[], bytes: number, stored: Replacements): Promise<number | undefined> {
    const { overBytes } = this.#settings
    const candidates = left.filter(({ block }) => block.type !== 'resource_link')
    candidates.sort((one, other) => other.bytes - one.bytes)
    let now = bytes
    let from = 0
    for (; from < maxSingleBlocks; from += 1) {
      const candidate = candidates[from]
      const content = candidate && now > overBytes && contentOf(candidate.block)
      // A block that is not much larger than its preview and link is stored together with others.
      if (!content || candidate.bytes < 2 * sizeOfAll(this.#describe(content, headOf(content)))) break
      const links = await this.#replace(content, candidate.bytes)
      if (!links) return undefined
      stored.set(candidate.block, links)
      now += sizeOfAll(links) - candidate.bytes
    }
    const group = new Set<ContentBlock>()
    let size = 0
    for (const { block, bytes: more } of candidates.slice(from)) {
      // The place that the preview and the link of the group take.
      if (now - size + this.#linkBytes() <= overBytes) break
      group.add(block)
      size += more
    }
    const [first, ...others] = left.map(({ block }) => block).filter((block) => group.has(block))
    if (!first || now <= overBytes) return now
    const together = { source: JSON.stringify([first, ...others]), mimeType: 'application/json' }
    const single = others.length === 0 ? contentOf(first) : undefined
    const content = single ?? together
    if (sizeOfAll(this.#describe(content, headOf(content))) >= size) return now
    const links = await this.#replace(content, size)
    if (!links) return undefined
    stored.set(first, links)
    for (const block of others) stored.set(block, [])
    return now - size + sizeOfAll(links)
  }

  /** An upper bound of the bytes of a preview and a link, but for long names and media types. */
  #linkBytes(): number {
    return (
      sizeOfAll(this.#describe({ source: '', mimeType: 'application/json' }, noBytes)) +
      4 * this.#settings.previewCharacters +
      200
    )
  }

  /** Whether the tool is declared here without an output schema. That of a proxied tool may be unknown in this isolate. */
  #hasNoOutputSchema(): boolean {
    const tool = this.#runtime.declarations.tools.get(String(this.#call.params.name))
    return tool !== undefined && !tool.item.outputSchema
  }

  /** Returns the scopes of the tool that the client called, and of the one that an interceptor called instead. */
  async #scopes(): Promise<readonly string[]> {
    const { method, params, principal } = this.#call
    const { declarations } = this.#runtime
    const { open } = this.#runtime.seals(principal)
    const of = (params: Params) => scopesOf(declarations, { method, params }, open, principal)
    const [called, ran] = await Promise.all([of(params), of(paramsOfRun(this.#call))])
    return [...new Set([...called, ...ran])]
  }

  /** Stores content that could be sent as well: if the bucket fails, or the link would be larger, it is. */
  async #replace(content: Content, bytes: number): Promise<readonly ContentBlock[] | undefined> {
    try {
      if (sizeOfAll(this.#describe(content, headOf(content))) >= bytes) return undefined
      return await this.#store(content)
    } catch (problem) {
      this.#runtime.report(problem)
      return undefined
    }
  }

  /** Stores content, and returns a preview and a link. */
  async #store(content: Content): Promise<readonly ContentBlock[]> {
    const { bucket, ttlMs, maxStoredBytes } = this.#settings
    const id = randomId()
    const key = keyOf(this.#settings.prefix, await ownerOf(this.#runtime, this.#call.principal), id)
    const expires = expiryOf(ttlMs)
    const customMetadata = { expires: String(expires), scopes: JSON.stringify(await this.#scopes()) }
    const metadata = { customMetadata, httpMetadata: { contentType: content.mimeType } }
    const written = await store(bucket(), key, content.source, metadata, maxStoredBytes, this.#call.signal)
    this.#keys.push(key)
    return this.#describe(content, written, id, expires)
  }

  /** Returns the preview and the link. Without an id, they are as long as those of content that is stored. */
  #describe(
    { mimeType, name }: Content,
    stored: Stored,
    id = sampleId,
    expires = expiryOf(this.#settings.ttlMs),
  ): readonly ContentBlock[] {
    const link = resourceLink(uriOf(id), {
      name: name ?? `Result of ${String(this.#call.params.name)}`,
      description: `Stored until ${new Date(expires).toISOString()}. Read it with resources/read; add ?offset=…&length=… for a part.`,
      mimeType,
      size: stored.bytes,
    })
    const preview = isTextType(mimeType) ? previewOf(stored, this.#settings.previewCharacters) : ''
    return preview
      ? [text(`${preview}\n[The whole text has ${stored.bytes} bytes: read the linked resource]`), link]
      : [link]
  }
}

/** Blocks of one result that are stored one by one, at most. */
const maxSingleBlocks = 8

/** The last time that a Date can have is the end of a longer `ttl`. */
const expiryOf = (ttlMs: number): number => Math.min(Date.now() + ttlMs, 8.64e15)

const sampleId = '0'.repeat(32)

const noBytes: Stored = { bytes: 0, head: new Uint8Array() }

const sizeOf = (value: string): number => (value.length > 0 ? utf8(value).byteLength : 0)

const jsonSize = (value: unknown): number => sizeOf(JSON.stringify(value))

const sizeOfAll = (blocks: readonly ContentBlock[]): number => blocks.reduce((sum, block) => sum + jsonSize(block), 0)

/** Returns what `store()` will return for content in memory. */
function headOf({ source }: Content): Stored {
  if (source instanceof ReadableStream) return noBytes
  const data = typeof source === 'string' ? utf8(source) : source
  return { bytes: data.byteLength, head: data.subarray(0, headBytes) }
}

/** Measures a block. The long member is not copied into JSON. */
function measured(block: ContentBlock): Candidate {
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

/** Returns the first characters of a stored text. */
const previewOf = ({ head }: Stored, characters: number): string =>
  characters === 0 ? '' : [...new TextDecoder().decode(head, { stream: true })].slice(0, characters).join('')
