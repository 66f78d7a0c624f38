/** @see https://www.rfc-editor.org/rfc/rfc4648#section-5 */
export function encodeBase64url(bytes: Uint8Array): string {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return btoa(text).replace(/[+/=]/g, (character) => ({ '+': '-', '/': '_' })[character] ?? '')
}

/** @throws DOMException for what is no base64url */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replace(/[-_]/g, (character) => (character === '-' ? '+' : '/')))
  return Uint8Array.from(plain, (character) => character.charCodeAt(0))
}
