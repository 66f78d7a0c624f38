/**
 * Stored results in R2. Each is one object. Its key contains a hash of its owner and a random id, so a caller finds its own results only. The
 * custom metadata has `expires` (milliseconds since 1970) and `scopes` (JSON list).
 */
import { preview } from '../../declarations/check-options.ts'
import type { Runtime } from '../../plugin.ts'
import { encodeBase64url } from '../../protocol/base64url.ts'
import { clientKey, type Principal } from '../../protocol/principal.ts'
import { utf8 } from '../../protocol/utf8.ts'
import type { StoredResultSource } from './stored-result.ts'

/** Bytes of one part of a multipart upload. R2 requires 5 MiB or more, and equal parts. */
const partBytes = 8 * 1024 * 1024

/**
 * Returns the owner of results, as a part of their keys: a hash of the endpoint, and of the client of the user that got the link. Anonymous
 * callers share one.
 */
export async function ownerOf({ identity }: Runtime, principal: Principal | undefined): Promise<string> {
  const text = principal ? clientKey(principal, identity) : JSON.stringify([identity])
  return encodeBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(text))))
}

/** Returns an id of 128 random bits, as lower-case hexadecimal: URI parsers change the case of other letters. */
export const randomId = (): string => crypto.randomUUID().replaceAll('-', '')

export const keyOf = (prefix: string, owner: string, id: string): string => `${prefix}${owner}/${id}`

export const isId = (id: unknown): id is string => typeof id === 'string' && /^[0-9a-f]{32}$/.test(id)

/** What is stored. */
export type Stored = {
  readonly bytes: number
  /** The first bytes. */
  readonly head: Uint8Array
}

type Metadata = {
  readonly customMetadata: Record<string, string>
  readonly httpMetadata: { readonly contentType: string }
}

/**
 * Stores a source under a key. Holds at most two parts of a stream in memory.
 *
 * @param maxBytes of the source
 * @param signal ends the reading of a stream
 * @throws Error for a source with more bytes; the reason of the signal when it is aborted. What was stored of a stream is deleted
 */
export async function store(
  bucket: R2Bucket,
  key: string,
  source: StoredResultSource,
  metadata: Metadata,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Stored> {
  if (source instanceof ReadableStream) return new StreamUpload(bucket, key, metadata, maxBytes).run(source, signal)
  const data = typeof source === 'string' ? utf8(source) : source
  if (data.byteLength > maxBytes) throw tooMany(maxBytes)
  await bucket.put(key, data, metadata)
  return { bytes: data.byteLength, head: data.slice(0, headBytes) }
}

/** Bytes of the beginning, for the preview. */
export const headBytes = 64 * 1024

const tooMany = (maxBytes: number) =>
  new Error(`A stored result has more than ${maxBytes} bytes: raise maxStoredBytes of resultStore(), or return less`)

/** Uploads a stream of unknown length. */
class StreamUpload {
  readonly #bucket: R2Bucket
  readonly #key: string
  readonly #metadata: Metadata
  readonly #maxBytes: number
  readonly #buffer = new Uint8Array(partBytes)
  readonly #parts: R2UploadedPart[] = []
  #upload: R2MultipartUpload | undefined
  #head = new Uint8Array()
  /** Bytes in the buffer. */
  #filled = 0
  #bytes = 0

  constructor(bucket: R2Bucket, key: string, metadata: Metadata, maxBytes: number) {
    this.#bucket = bucket
    this.#key = key
    this.#metadata = metadata
    this.#maxBytes = maxBytes
  }

  async run(stream: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<Stored> {
    const reader = stream.getReader()
    // Ends a read that waits for the source.
    const stop = () => void reader.cancel(signal.reason).catch(() => {})
    signal.addEventListener('abort', stop, { once: true })
    try {
      for (;;) {
        signal.throwIfAborted()
        const { done, value } = await reader.read()
        signal.throwIfAborted()
        if (done) break
        await this.#add(value)
      }
      await this.#end()
    } catch (problem) {
      await Promise.allSettled([reader.cancel(problem), this.#upload?.abort()])
      throw problem
    } finally {
      signal.removeEventListener('abort', stop)
    }
    return { bytes: this.#bytes, head: this.#head }
  }

  async #add(chunk: unknown): Promise<void> {
    if (!(chunk instanceof Uint8Array)) {
      const type = typeof chunk === 'string' ? 'a string' : preview(chunk)
      throw new Error(
        `The stream that storedResult() got must have chunks of type Uint8Array, not ${type}: pass text through new TextEncoderStream()`,
      )
    }
    this.#bytes += chunk.byteLength
    if (this.#bytes > this.#maxBytes) throw tooMany(this.#maxBytes)
    for (let at = 0; at < chunk.byteLength; ) {
      const piece = chunk.subarray(at, at + partBytes - this.#filled)
      this.#buffer.set(piece, this.#filled)
      this.#filled += piece.byteLength
      at += piece.byteLength
      if (this.#filled === partBytes) await this.#flush()
    }
  }

  async #flush(): Promise<void> {
    if (!this.#upload) this.#keepHead()
    this.#upload ??= await this.#bucket.createMultipartUpload(this.#key, this.#metadata)
    const part = await this.#upload.uploadPart(this.#parts.length + 1, this.#buffer.subarray(0, this.#filled))
    this.#parts.push(part)
    this.#filled = 0
  }

  async #end(): Promise<void> {
    if (!this.#upload) {
      this.#keepHead()
      await this.#bucket.put(this.#key, this.#buffer.subarray(0, this.#filled), this.#metadata)
      return
    }
    if (this.#filled > 0) await this.#flush()
    await this.#upload.complete(this.#parts)
  }

  #keepHead(): void {
    this.#head = this.#buffer.slice(0, Math.min(headBytes, this.#filled))
  }
}
