/** @see https://www.rfc-editor.org/rfc/rfc4648#section-4 */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = ''
  // One call per slice: a spread of a large array would overflow the stack.
  for (let at = 0; at < bytes.length; at += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  }
  return btoa(binary)
}

/** @throws DOMException for a text that is not base64 */
export const decodeBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
