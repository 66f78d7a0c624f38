/** Replaces large content of one result by links to R2. */
import { resourceLink, text } from '../../declarations/content.ts'
import type { CallInfo } from '../../declarations/interceptor.ts'
import { paramsOfRun } from '../../engine/interceptors.ts'
import { scopesOf } from '../../engine/required-scopes.ts'
import type { Runtime } from '../../plugin.ts'
import type { CallToolResult, ContentBlock, Params } from '../../protocol/types.ts'
import { utf8 } from '../../protocol/utf8.ts'
import { jsonSize, measured, sizeOf, sizeOfAll } from './block-size.ts'
import { isTextType, uriOf } from './read-result.ts'
import type { Settings } from './result-store.ts'
import { type Content, type Replacements, storeBlocks } from './store-blocks.ts'
import { headBytes, keyOf, ownerOf, randomId, type Stored, store } from './stored-object.ts'
import { cancelStreams, pendingOf } from './stored-result.ts'

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
      const rest = await storeBlocks(left, bytes, stored, {
        overBytes: this.#settings.overBytes,
        linkBytes: (content) => this.#linkBytes(content),
        maxLinkBytes: this.#maxLinkBytes(),
        replace: (content, replaced) => this.#replace(content, replaced),
      })
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

  /** Returns the bytes of the preview and the link that take the place of content. */
  #linkBytes(content: Content): number {
    return sizeOfAll(this.#describe(content, headOf(content)))
  }

  /** An upper bound of the bytes of a preview and a link, but for long names and media types. */
  #maxLinkBytes(): number {
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
      if (this.#linkBytes(content) >= bytes) return undefined
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

/** The last time that a Date can have is the end of a longer `ttl`. */
const expiryOf = (ttlMs: number): number => Math.min(Date.now() + ttlMs, 8.64e15)

const sampleId = '0'.repeat(32)

const noBytes: Stored = { bytes: 0, head: new Uint8Array() }

/** Returns what `store()` will return for content in memory. */
function headOf({ source }: Content): Stored {
  if (source instanceof ReadableStream) return noBytes
  const data = typeof source === 'string' ? utf8(source) : source
  return { bytes: data.byteLength, head: data.subarray(0, headBytes) }
}

/** Returns the first characters of a stored text. */
const previewOf = ({ head }: Stored, characters: number): string =>
  characters === 0 ? '' : [...new TextDecoder().decode(head, { stream: true })].slice(0, characters).join('')
