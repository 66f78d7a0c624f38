import { encodeBase64 } from '../../protocol/base64.ts'
import { utf8 } from '../../protocol/utf8.ts'

/** The type depends on the library of types: that of Workers does not exclude shared memory. */
export type Bytes = ReturnType<typeof utf8>

/** A document that everyone may read. */
export type PublicDocument = {
  /** Media type, with its parameters. */
  readonly type: string
  readonly bytes: Bytes
  /** SHA-256 of the bytes. */
  readonly digest: Uint8Array
}

export async function publicDocument(type: string, body: string | Bytes): Promise<PublicDocument> {
  const bytes = typeof body === 'string' ? utf8(body) : body
  return { type, bytes, digest: new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)) }
}

/** Headers that let pages of every origin read a document, and its `ETag` and `Link`. */
const open = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'etag, link' }

/** Answers a preflight: a page may send any header. */
export const preflight = (): Response =>
  new Response(null, {
    status: 204,
    headers: {
      ...open,
      'Access-Control-Allow-Methods': 'GET, HEAD',
      'Access-Control-Allow-Headers': '*',
      'Access-Control-Max-Age': '86400',
    },
  })

/**
 * Responds with a document, or with status 304 if the client has it.
 *
 * @param more headers
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-13.1.2
 */
export function documentResponse(
  { method, headers: requestHeaders }: Request,
  { type, bytes, digest }: PublicDocument,
  more: Readonly<Record<string, string>>,
): Response {
  const tag = `"${encodeBase64(digest, { alphabet: 'base64url', omitPadding: true })}"`
  const headers = { ...open, ...more, ETag: tag }
  if (hasTag(requestHeaders.get('If-None-Match'), tag)) return new Response(null, { status: 304, headers })
  return new Response(method === 'HEAD' ? null : bytes, {
    headers: {
      ...headers,
      'Content-Type': type,
      'Content-Length': String(bytes.length),
      'X-Content-Type-Options': 'nosniff',
    },
  })
}

/** Whether `If-None-Match` names a tag. The tag has no comma, so that a list can be split. */
function hasTag(condition: string | null, tag: string): boolean {
  if (condition === null) return false
  const tags = condition.split(',').map((one) => one.trim().replace(/^W\//, ''))
  return tags.includes('*') || tags.includes(tag)
}
