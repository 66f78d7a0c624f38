type Options = { readonly alphabet?: 'base64' | 'base64url'; readonly omitPadding?: boolean }

/** Absent in Node.js before 25. */
type Native = { toBase64?(options?: Options): string }

/**
 * Encodes bytes as the runtime does, if it can: that takes a tenth of the time.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4648#section-4
 */
export const encodeBase64 = (bytes: Uint8Array & Native, options?: Options): string =>
  bytes.toBase64 ? bytes.toBase64(options) : encodeAlone(bytes, options)

function encodeAlone(bytes: Uint8Array, { alphabet, omitPadding }: Options = {}): string {
  let binary = ''
  // One call per slice: a spread of a large array would overflow the stack.
  for (let at = 0; at < bytes.length; at += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  }
  const text = omitPadding ? btoa(binary).replaceAll('=', '') : btoa(binary)
  return alphabet === 'base64url' ? text.replaceAll('+', '-').replaceAll('/', '_') : text
}

/** @throws DOMException for a text that is not base64 */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  // `Uint8Array.from` with a function takes ten times as long.
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return bytes
}
