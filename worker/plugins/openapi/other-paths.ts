/** Which paths of a document an API may read in the path of a request. */

/** A path by its segments: each is the literal texts between its parameters, and one text without a parameter. */
type Template = { readonly path: string; readonly segments: readonly (readonly string[])[] }

/** The paths of a document. */
export class Paths {
  readonly #byLength: ReadonlyMap<number, readonly Template[]>
  readonly #maxSegments: number

  constructor(paths: Iterable<string>) {
    const templates = Array.from(new Set(paths), templateOf)
    this.#byLength = Map.groupBy(templates, ({ segments }) => segments.length)
    this.#maxSegments = Math.max(0, ...this.#byLength.keys())
  }

  /**
   * Returns a path that an API could choose instead of that of the operation, because only that one matches, or it is more literal in a
   * segment; `undefined` if there is none.
   *
   * @param own the path of the operation
   * @param sent the same path with its arguments
   * @see https://spec.openapis.org/oas/v3.2.0.html#path-templating-matching
   */
  findOther(own: string, sent: string): string | undefined {
    const { segments } = templateOf(own)
    // What is behind it is the query of the operation.
    for (const { read, isCut } of readings(sent.replace(/\?.*$/s, ''), this.#maxSegments)) {
      const least = isCut ? 0 : -1
      const isShorter = !isCut && read.length < segments.length
      const candidates = this.#byLength.get(read.length) ?? []
      const texts = candidates.length > 0 ? read.map(textsOf) : []
      const found = candidates.find(
        ({ segments: others }) =>
          texts.every((all, index) => all.some((text) => literalIn(others, index, text) >= 0)) &&
          (isShorter ||
            texts.some((all, index) =>
              all.some((text) => literalIn(others, index, text) > Math.max(least, literalIn(segments, index, text))),
            )),
      )
      if (found) return found.path
    }
    return undefined
  }
}

/** How often the path of a request is decoded to be checked: by gateways in front of an API, and by the API. */
const decodings = 3

/**
 * What servers read between two segments: they merge slashes, and some leave out segments of dots and blanks, those that are a parameter
 * (`;…`), and those that end before they begin.
 */
const separators = [
  /\/+/,
  /(?:\/(?:;[^/]*)?)+/,
  /(?:\/(?:[.\s]*(?![^/]))?)+/,
  /(?:\/(?:[.\s]*(?:[;?#\0][^/]*)?(?![^/]))?)+/,
]

/**
 * Yields the segments that servers may read in a path: those that split it first and decode each segment, and those that decode it before.
 *
 * @param maxSegments of paths of interest: longer ones are cut
 */
function* readings(path: string, maxSegments: number): Iterable<{ read: string[]; isCut: boolean }> {
  let decoded = withoutOwnParameters(path)
  for (let count = 0; count <= decodings; count += 1) {
    // Some servers read a backslash as a slash.
    const slashed = decoded.replaceAll('\\', '/')
    // A server that forwards a decoded path ends it there.
    const cut = slashed.replace(/[?#\0].*$/s, '')
    for (const text of new Set([decoded, slashed, cut])) {
      const isCut = text !== decoded && text !== slashed
      for (const separator of separators) {
        yield { read: text.split(separator, maxSegments + 2).filter(Boolean), isCut }
      }
    }
    const next = decodedOnce(decoded)
    if (next === decoded) return
    decoded = next
  }
}

/** Returns what servers may read in a segment: some ignore what begins with `;`, end it at other characters, or ignore line breaks. */
function textsOf(segment: string): string[] {
  const text = decodedPath(segment).toLowerCase()
  const bare = decodedPath(segment.replace(/;.*$/s, '')).toLowerCase()
  const ended = text.replace(/[;?#\0].*$/s, '')
  return [text, bare, ended, ended.replaceAll(/[\t\n\r]/g, '')]
}

/**
 * Returns how many characters of a text a segment names, and one more without a parameter; -1 if it does not match. Some servers ignore a
 * suffix of the last segment.
 */
function literalIn(segments: Template['segments'], index: number, text: string): number {
  const [first, ...others] = segments[index] ?? []
  if (first === undefined || !text.startsWith(first)) return -1
  const last = others.pop()
  if (last === undefined) {
    const suffix = index === segments.length - 1 ? /^\s*(?:\..*)?$/s : /^$/
    return suffix.test(text.slice(first.length)) ? first.length + 1 : -1
  }
  let end = first.length
  for (const other of others) {
    const start = text.indexOf(other, end + 1)
    if (start < 0) return -1
    end = start + other.length
  }
  if (text.length - last.length <= end || !text.endsWith(last)) return -1
  return first.length + others.join('').length + last.length
}

function templateOf(path: string): Template {
  const plain = decodedPath(withoutOwnParameters(path.replaceAll(/\{[^}]+\}/g, '{}'))).replace(/[?#].*$/s, '')
  const segments = plain.toLowerCase().split('/').filter(Boolean)
  return { path, segments: segments.map((segment) => segment.split('{}')) }
}

/** A path and the style matrix have ";" that are part of it. That of a value is encoded. */
const withoutOwnParameters = (path: string): string => path.replaceAll(';', ',')

/** Decodes a text, also one with other "%", and bytes that are not UTF-8. Natively: an argument can have thousands of them. */
const decodedOnce = (text: string): string =>
  new URLSearchParams(`=${text.replaceAll('&', '%26').replaceAll('+', '%2B')}`).get('') ?? ''

function decodedPath(path: string): string {
  let decoded = path
  for (let count = 0; count < decodings && decoded.includes('%'); count += 1) decoded = decodedOnce(decoded)
  return decoded
}

/**
 * Returns the segments of a path that lead to another one: `.` and `..`, also for a server that decodes a path before it resolves it. Some
 * servers read what is behind `;` as a parameter of the segment, end it at NUL, or ignore tabs and line breaks.
 */
export const dotSegments = (path: string): string[] =>
  decodedPath(path)
    .replaceAll(/[\t\n\r]/g, '')
    .split(/[/\\]/)
    .filter((segment) => /^\.\.?(?:$|[;?#\0])/.test(segment))
