/** `resultStore()`: replaces large content of results by links to R2. */
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import { resourceLink, text } from '../../declarations/content.ts'
import { type Duration, milliseconds } from '../../declarations/duration.ts'
import type { CallInfo } from '../../declarations/interceptor.ts'
import * as kind from '../../declarations/option-kinds.ts'
import { defineResource, type TemplateResource } from '../../declarations/resource.ts'
import { paramsOfRun } from '../../engine/interceptors.ts'
import { scopesOf } from '../../engine/required-scopes.ts'
import type { Plugin, Runtime } from '../../plugin.ts'
import { decodeBase64 } from '../../protocol/base64.ts'
import type { CallToolResult, ContentBlock, Params, Result } from '../../protocol/types.ts'
import { utf8 } from '../../protocol/utf8.ts'
import { isTextType, readResult, uriOf, type Variables } from './read-result.ts'
import { ownerOf, randomId, type Stored, store } from './stored-object.ts'
import { allowStoredResults, type Pending, pendingOf } from './stored-result.ts'

/** Configures `resultStore()`. */
export type ResultStoreOptions = {
  /** The R2 bucket, or a function that returns it from the bindings of the Worker. Buckets can be shared with other data: see `prefix`. */
  bucket: R2Bucket | ((env: Cloudflare.Env) => R2Bucket)
  /**
   * Bytes of a result that are sent. Beyond them, the largest content blocks are stored until the rest fits. Default: 256 KiB.
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
      if (call.method !== 'tools/call' || outcome.type !== 'result' || !isToolResult(outcome.result)) return outcome
      const { result } = outcome
      const fitted = await new ResultWriter(runtime, settings, call).shrink(result)
      return fitted === result ? outcome : { ...outcome, result: fitted }
    },
  }
}

/** Not that of a call that started a task. */
const isToolResult = (result: Result): result is Result & CallToolResult => Array.isArray(result.content)

const keyOf = (settings: Settings, owner: string, id: string) => `${settings.prefix}${owner}/${id}`

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
    const key = async (id: string) => keyOf(settings, owner, id)
    return readResult(settings.bucket(), key, variables, ctx, settings.pageBytes)
  })
  return { ...resource, scopes: [] } as TemplateResource // its URI has variables
}

/** Content that may be stored, and the block that it is now. */
type Candidate = { readonly block: ContentBlock; readonly bytes: number }

/** Stores content of one result. */
class ResultWriter {
  readonly #runtime: Runtime
  readonly #settings: Settings
  readonly #call: CallInfo

  constructor(runtime: Runtime, settings: Settings, call: CallInfo) {
    this.#runtime = runtime
    this.#settings = settings
    this.#call = call
  }

  /** Returns the result itself if it fits. */
  async shrink<R extends CallToolResult>(result: R): Promise<R> {
    const stored = new Map<ContentBlock, readonly ContentBlock[]>()
    for (const block of result.content) {
      const pending = pendingOf(block)
      if (pending) stored.set(block, await this.#store(pending))
    }
    const { overBytes } = this.#settings
    const structured = result.structuredContent === undefined ? '' : JSON.stringify(result.structuredContent)
    const candidates = result.content.filter((block) => !stored.has(block)).map(measured)
    const mayMove = structured !== '' && this.#hasNoOutputSchema()
    let bytes = candidates.reduce((sum, candidate) => sum + candidate.bytes, sizeOf(structured))
    const changed: { structuredContent?: undefined } = {}
    const added: ContentBlock[] = []
    if (bytes > overBytes) {
      candidates.sort((one, other) => other.bytes - one.bytes)
      for (const { block, bytes: size } of candidates) {
        if (bytes <= overBytes || size < minStoredBytes) break
        const links = await this.#tryToStore(contentOf(block))
        if (!links) continue
        stored.set(block, links)
        bytes -= size
      }
      if (bytes > overBytes && mayMove) {
        const links = await this.#tryToStore({ source: structured, mimeType: 'application/json', name: undefined })
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

  /** Stores content that could be sent as well: if the bucket fails, it is. */
  async #tryToStore(pending: Pending | undefined): Promise<readonly ContentBlock[] | undefined> {
    if (!pending) return undefined
    try {
      return await this.#store(pending)
    } catch (problem) {
      this.#runtime.report(problem)
      return undefined
    }
  }

  /** Stores content, and returns a preview and a link. */
  async #store({ source, mimeType, name }: Pending): Promise<readonly ContentBlock[]> {
    const { bucket, ttlMs, previewCharacters, maxStoredBytes } = this.#settings
    const id = randomId()
    const key = keyOf(this.#settings, await ownerOf(this.#runtime, this.#call.principal), id)
    const expires = Date.now() + ttlMs
    const customMetadata = { expires: String(expires), scopes: JSON.stringify(await this.#scopes()) }
    const metadata = { customMetadata, httpMetadata: { contentType: mimeType } }
    const written = await store(bucket(), key, source, metadata, maxStoredBytes)
    const until = new Date(expires).toISOString()
    const link = resourceLink(uriOf(id), {
      name: name ?? `Result of ${String(this.#call.params.name)}`,
      description: `Stored until ${until}. Read it with resources/read; add ?offset=…&length=… for a part.`,
      mimeType,
      size: written.bytes,
    })
    const preview = isTextType(mimeType) ? previewOf(written, previewCharacters) : ''
    return preview ? [text(`${preview}\n[The whole text has ${written.bytes} bytes: read ${link.uri}]`), link] : [link]
  }
}

/** Bytes below which a link would not be shorter. */
const minStoredBytes = 1024

const sizeOf = (value: string): number => (value.length > 0 ? utf8(value).byteLength : 0)

function measured(block: ContentBlock): Candidate {
  if (block.type === 'text') return { block, bytes: sizeOf(block.text) }
  if (block.type === 'image' || block.type === 'audio') return { block, bytes: block.data.length }
  if (block.type !== 'resource') return { block, bytes: 0 }
  const { resource } = block
  return { block, bytes: 'text' in resource ? sizeOf(resource.text) : resource.blob.length }
}

/** Returns what is stored of a block; `undefined` for a block that is never stored. */
function contentOf(block: ContentBlock): Pending | undefined {
  switch (block.type) {
    case 'text':
      return { source: block.text, mimeType: 'text/plain', name: undefined }
    case 'image':
    case 'audio':
      return { source: decodeBase64(block.data), mimeType: block.mimeType, name: undefined }
    case 'resource': {
      const { resource } = block
      return 'text' in resource
        ? { source: resource.text, mimeType: resource.mimeType ?? 'text/plain', name: resource.uri }
        : {
            source: decodeBase64(resource.blob),
            mimeType: resource.mimeType ?? 'application/octet-stream',
            name: resource.uri,
          }
    }
    default:
      return undefined
  }
}

/** Returns the first characters of a stored text. */
const previewOf = ({ head }: Stored, characters: number): string =>
  characters === 0 ? '' : [...new TextDecoder().decode(head, { stream: true })].slice(0, characters).join('')
