/**
 * URIs from clients: one spelling for each, and paths that do not leave their place.
 *
 * @see https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2
 * @see https://url.spec.whatwg.org/#path-state
 */

/**
 * Returns the normal form of a URI: that of its parts, with the scheme in lower case.
 *
 * @throws URIError for half of a surrogate pair
 */
export const normalizeUri = (uri: string): string =>
  normalizePart(uri).replace(/^[a-z][a-z\d+.-]*:/i, (scheme) => scheme.toLowerCase())

/**
 * Returns the normal form of a part of a URI: encodes what must be percent-encoded, decodes what need not be, and writes hex digits in upper
 * case. The result is ASCII.
 *
 * @throws URIError for half of a surrogate pair
 */
export const normalizePart = (part: string): string =>
  part
    .replace(/[^!#-;=?-[\]_a-z~]+/g, (characters) => encodeURIComponent(characters))
    .replace(/%[\da-fA-F]{2}/g, (encoded) => {
      const plain = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
      return /[\w.~-]/.test(plain) ? plain : encoded.toUpperCase()
    })

/**
 * Returns one spelling for all spellings of a URI that RFC 3986 calls equivalent: the normal form and, where URL parsers know the scheme, with
 * the host in lower case. Never throws: half of a surrogate pair becomes U+FFFD.
 */
export function canonicalUri(uri: string): string {
  return normalizeUri(uri.toWellFormed()).replace(
    /^((?:https?|wss?|ftp):\/\/(?:[^/?#]*@)?)([^/?#@]*)/,
    (_, before: string, host: string) => before + host.toLowerCase(),
  )
}

/** Returns one spelling for all spellings of a URI template: its variables stay as they are. */
export const canonicalTemplate = (template: string): string =>
  template
    .split(/(\{[^{}]*\})/)
    .map((part, index) =>
      index % 2 === 1 ? part : index === 0 ? canonicalUri(part) : normalizePart(part.toWellFormed()),
    )
    .join('')

/** Matches an escape of these two hex digits, escaped again any number of times: each decoding of a variable removes one level. */
const escaped = (digits: string) => `%(?:25)*(?:${digits})`

/** URL parsers remove tabs and line breaks, and trim other controls and blanks at both ends. */
const removed = `(?:[\\0- ]|${escaped('[01][\\da-f]|20')})*`
const dot = `(?:\\.|${escaped('2e')})`
/** Characters and escapes that may start or end a segment of a path, in the URI or in a decoded variable of it. */
const separator = `[/\\\\:?#&=;,]|${escaped('2f|5c|3a|3f|23|26|3d|3b|2c')}`

const climbing = new RegExp(`(?:^|${separator})${removed}${dot}${removed}${dot}${removed}(?=${separator}|$)`, 'i')
const dotSegment = new RegExp(`[/\\\\]${dot}(?=[/\\\\]|$)`, 'i')

/** Returns the problem of a URI that a client sends; `undefined` without a problem. Takes time in proportion to its length. */
export function uriProblem(uri: string): string | undefined {
  if (!/^[a-z][a-z\d+.-]*:/i.test(uri)) return 'must be a URI with a scheme'
  if (hasControl(uri)) return 'must not contain control characters: percent-encode them'
  if (climbing.test(uri)) return 'must not contain ".." segments'
  // In a path every URL parser removes it, so the URI has another spelling.
  if (dotSegment.test(uri.replace(/[?#].*/s, ''))) return 'must not contain "." segments'
  return undefined
}

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x20 || code === 0x7f) return true
  }
  return false
}
