import { decodeBase64url, encodeBase64url } from '../protocol/base64url.ts'

export const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))

/** Decodes a text. Returns no bytes for a spelling that was not handed out, although it decodes to the same bytes. @throws DOMException */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = decodeBase64url(text)
  return encodeBase64url(bytes) === text ? bytes : new Uint8Array()
}
