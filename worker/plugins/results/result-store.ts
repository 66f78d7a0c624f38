/** `resultStore()`: its options, the interceptor that stores large content of results in R2, and the resource that reads it. */
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import { resourceLink, text } from '../../declarations/content.ts'
import { type Duration, milliseconds } from '../../declarations/duration.ts'
import type { CallInfo } from '../../declarations/interceptor.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { ResultOutcome } from '../../declarations/outcome.ts'
import { defineResource, type TemplateResource } from '../../declarations/resource.ts'
import { reportToolFailure, subjectOf, toolFailure } from '../../engine/failure.ts'
import { paramsOfRun } from '../../engine/interceptors.ts'
import { scopesOf } from '../../engine/required-scopes.ts'
import { resolve } from '../../engine/resolve.ts'
import type { Plugin, Runtime } from '../../plugin.ts'
import { DeveloperError, isA, McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { CallToolResult, ContentBlock, Params, Result } from '../../protocol/types.ts'
import { utf8 } from '../../protocol/utf8.ts'
import { jsonSize, measured, sizeOf, sizeOfAll } from './block-size.ts'
import { isTextType, readResult, uriOf, type Variables } from './read-result.ts'
import { type Content, type Replacements, storeBlocks } from './store-blocks.ts'
import { headBytes, keyOf, ownerOf, randomId, type Stored, store } from './stored-object.ts'
import { allowStoredResults, cancelStreams, pendingOf } from './stored-result.ts'

/** Configures `resultStore()`. */
export type ResultStoreOptions = {
  /** The R2 bucket, or a function that returns it from the bindings of the Worker. Buckets can be shared with other data: see `prefix`. */
  bucket: R2Bucket | ((env: Cloudflare.Env) => R2Bucket)
  /**
   * Bytes of a result that are sent. Beyond them, content blocks are stored until the rest fits: the largest ones one by one, many small ones
   * together. Default: 256 KiB.
   */
  overBytes?: number
  /** Characters of a stored text that the result keeps. 0: none. Default: 1,000. */
  previewCharacters?: number
  /** Bytes of a stored text that one read returns, unless its URI has `length`; at most 1 MiB. Default: 64 KiB. */
  pageBytes?: number
  /** Bytes of one stored content. A stream with more fails. Default: 1 GiB. */
  maxStoredBytes?: number
  /** Time for which a stored result can be read. Default: 1 day. */
  ttl?: Duration
  /** Start of the keys in the bucket. Default: `results/`. */
  prefix?: string
}

const kinds: KindsOf<ResultStoreOptions> = {
  bucket: kind.required([
    (value) => typeof value === 'function' || kind.having('createMultipartUpload', '')[0](value),
    'an R2 bucket such as env.RESULTS, or a function (env) => env.RESULTS',
  ]),
  overBytes: kind.count,
  previewCharacters: kind.size,
  pageBytes: [(value) => kind.count[0](value) && Number(value) <= 1024 * 1024, 'a whole number from 1 to 1048576'],
  maxStoredBytes: kind.count,
  ttl: kind.duration,
  prefix: kind.string,
}

/** The options, with their defaults. */
type Settings = Required<Omit<ResultStoreOptions, 'bucket' | 'ttl'>> & {
  readonly ttlMs: number
  bucket(): R2Bucket
}

/** @param envNow returns the bindings of the Worker */
export function resultStorePlugin(options: ResultStoreOptions, envNow: () => Cloudflare.Env): Plugin {
  checkOptions('resultStore()', options, kinds)
  const { overBytes = 262_144, previewCharacters = 1000, pageBytes = 65_536, maxStoredBytes = 2 ** 30 } = options
  const { ttl = '1d', prefix = 'results/' } = options
  const settings: Settings = {
    overBytes,
    previewCharacters,
    pageBytes,
    maxStoredBytes,
    ttlMs: milliseconds(ttl, 'ttl of resultStore()'),
    prefix,
    bucket() {
      const bucket = typeof options.bucket === 'function' ? options.bucket(envNow()) : options.bucket
      if (bucket) return bucket
      throw new Error(
        'bucket of resultStore() returned undefined: declare the bucket in [[r2_buckets]] of wrangler.toml',
      )
    },
  }
  allowStoredResults()
  return {
    name: 'resultStore',
    templates: (runtime) => [templateOf(runtime, settings)],
    interceptor: (runtime) => async (call, next) => {
      const outcome = await next()
      if (call.method === 'prompts/get' && outcome.type === 'result') await refusePending(outcome.result)
      if (call.method !== 'tools/call' || outcome.type !== 'result' || !isToolResult(outcome.result)) return outcome
      const { result } = outcome
      const writer = new ResultWriter(runtime, settings, call)
      let stored: Replacements
      try {
        stored = await writer.storePending(result)
      } catch (thrown) {
        return failedOutcome(runtime, call, thrown)
      }
      const fitted = await writer.shrink(result, stored)
      return fitted === result ? outcome : { ...outcome, result: fitted }
    },
  }
}

/** Not that of a call that started a task. */
const isToolResult = (result: Result): result is Result & CallToolResult => Array.isArray(result.content)

/** Returns the outcome of a tool whose content could not be stored: that of a tool that throws. @throws McpError */
function failedOutcome({ declarations, report }: Runtime, call: CallInfo, thrown: unknown): ResultOutcome {
  if (isA(McpError, thrown)) throw thrown
  const result = toolFailure(thrown, () => reportToolFailure(declarations, call, subjectOf(call), thrown, report))
  return { type: 'result', result, cause: thrown }
}

/** @throws DeveloperError for what `storedResult()` returned to a prompt, whose streams it cancels */
async function refusePending({ messages }: Result): Promise<void> {
  const blocks = Array.isArray(messages) ? messages.map(({ content }) => content).filter(isObject) : []
  const refused = blocks.flatMap((block) => pendingOf(block) ?? [])
  if (refused.length === 0) return
  await cancelStreams(refused)
  throw new DeveloperError('A prompt cannot contain storedResult(): return it from a tool')
}

/** Callers of every scope may read: each stored result has the scopes of its tool. */
function templateOf(runtime: Runtime, settings: Settings): TemplateResource {
  const definition = {
    name: 'result',
    title: 'Stored result',
    description:
      'A large result of a tool. offset and length select bytes; without them, the first ones are returned, with the URI of the next ones.',
  }
  const resource = defineResource('result://{id}{?offset,length}', definition, async (variables: Variables, ctx) => {
    const owner = await ownerOf(runtime, ctx.principal)
    const key = async (id: string) => keyOf(settings.prefix, owner, id)
    return readResult(settings.bucket(), key, variables, ctx, settings.pageBytes)
  })
  return { ...resource, scopes: [] } as TemplateResource // its URI has variables
}

/** Stores content of one result. */
class ResultWriter {
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
    const of = (params: Params) => scopesOf(resolve(declarations, { method, params }), open, principal)
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
