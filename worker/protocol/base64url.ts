import { decodeBase64, encodeBase64 } from './base64.ts'

/** @see https://www.rfc-editor.org/rfc/rfc4648#section-5 */
export const encodeBase64url = (bytes: Uint8Array): string =>
  encodeBase64(bytes, { alphabet: 'base64url', omitPadding: true })

/** @throws DOMException for a text that is not base64url */
export const decodeBase64url = (text: string): Uint8Array<ArrayBuffer> =>
  decodeBase64(text.replaceAll('-', '+').replaceAll('_', '/'))
