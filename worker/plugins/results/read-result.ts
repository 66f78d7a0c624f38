/** Reads stored results, one range of bytes at a time. */
import type { Context } from '../../declarations/context.ts'
import { encodeBase64 } from '../../protocol/base64.ts'
import { McpError } from '../../protocol/errors.ts'
import { holdsScopes } from '../../protocol/principal.ts'
import type { ResourceContents } from '../../protocol/types.ts'
import { isId } from './stored-object.ts'

/** Bytes of one read, at most. */
export const maxReadBytes = 1024 * 1024

/** The variables of the template of stored results. */
export type Variables = Readonly<Record<string, string | string[] | undefined>>

const textTypes = /^text\/|[/+](?:json|xml|yaml|javascript|x-ndjson|csv|sql)\b/i
export const isTextType = (mimeType: string): boolean => textTypes.test(mimeType)

export const uriOf = (id: string, offset = 0): string =>
  offset > 0 ? `result://${id}?offset=${offset}` : `result://${id}`

/**
 * Reads a range of a stored result.
 *
 * @param pageBytes of a read without `length`
 * @returns the range and, if more follows, a text that names the URI of the next range; `undefined` if the caller has no such result
 * @throws McpError `invalid_params` for a range that is not one
 */
export async function readResult(
  bucket: R2Bucket,
  keyOf: (id: string) => Promise<string>,
  { id, offset, length }: Variables,
  { uri, principal }: Pick<Context, 'principal'> & { readonly uri: string },
  pageBytes: number,
): Promise<readonly ResourceContents[] | undefined> {
  if (!isId(id)) return undefined
  const key = await keyOf(id)
  const head = await bucket.head(key)
  if (!head) return undefined
  const { expires = '0', scopes = '[]' } = head.customMetadata ?? {}
  if (Number(expires) <= Date.now()) {
    await bucket.delete(key)
    return undefined
  }
  if (!holdsScopes(principal?.scopes, JSON.parse(scopes))) return undefined
  const mimeType = head.httpMetadata?.contentType ?? 'application/octet-stream'
  const isText = isTextType(mimeType)
  const start = wholeNumber(offset, 'offset') ?? 0
  const count = wholeNumber(length, 'length') ?? (isText ? pageBytes : maxReadBytes)
  if (start > head.size || count < 1 || count > maxReadBytes) {
    throw new McpError(
      'invalid_params',
      `The stored result has ${head.size} bytes: offset must be at most that, and length 1 to ${maxReadBytes}`,
    )
  }
  if (start === head.size) return [isText ? { uri, mimeType, text: '' } : { uri, mimeType, blob: '' }]
  const fetched = Math.min(isText ? count + moreBytes : count, head.size - start)
  const object = await bucket.get(key, { range: { offset: start, length: fetched } })
  if (!object) return undefined
  const bytes = new Uint8Array(await object.arrayBuffer())
  const [from, to] = isText ? wholeCharacters(bytes, start === 0, count) : [0, bytes.byteLength]
  const part = bytes.subarray(from, to)
  const contents = isText
    ? { uri, mimeType, text: new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(part) }
    : { uri, mimeType, blob: encodeBase64(part) }
  const next = start + to
  if (next >= head.size) return [contents]
  const nextUri = uriOf(id, next)
  const text = `Bytes ${start + from} to ${next - 1} of ${head.size}. Read this resource with offset=${next} for what follows.`
  return [contents, { uri: nextUri, mimeType: 'text/plain', text }]
}

function wholeNumber(value: string | string[] | undefined, name: string): number | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value)
  throw new McpError(
    'invalid_params',
    `"${name}" of a stored result must be a whole number, not ${JSON.stringify(value)}`,
  )
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80

/** Bytes that a read of a text needs after its range: the rest of a character before it, and a whole character. */
const moreBytes = 6

/**
 * Returns the range of whole characters of UTF-8 in some bytes: as many as fit, and at least one.
 *
 * @param bytes those of the range, and up to `moreBytes` after it
 * @param count of bytes in the range
 */
function wholeCharacters(bytes: Uint8Array, isFirst: boolean, count: number): [from: number, to: number] {
  let from = 0
  while (!isFirst && from < 3 && isContinuation(bytes[from])) from += 1
  if (count >= bytes.byteLength) return [from, bytes.byteLength]
  // Text that is not UTF-8 can have more of them.
  let to = count
  while (count - to < 3 && isContinuation(bytes[to])) to -= 1
  if (to > from) return [from, to]
  to = from + 1
  while (to < from + 4 && isContinuation(bytes[to])) to += 1
  return [from, to]
}
