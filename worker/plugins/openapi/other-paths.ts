/** Which paths of a document an API may read in the path of a request. */

/** A path by its segments: each is the literal texts between its parameters, and one text without a parameter. */
type Template = { readonly path: string; readonly segments: readonly (readonly string[])[] }

/** The paths of a document. */
export class Paths {
  readonly #byLength: ReadonlyMap<number, readonly Template[]>

  constructor(paths: Iterable<string>) {
    const templates = Array.from(new Set(paths), templateOf)
    this.#byLength = Map.groupBy(templates, ({ segments }) => segments.length)
  }

  /**
   * Returns the path that an API would choose instead of that of the operation, because it is the more literal one at the first segment where
   * they differ; `undefined` if there is none.
   *
   * @param own the path of the operation
   * @param sent the same path with its arguments
   * @see https://spec.openapis.org/oas/v3.2.0.html#path-templating-matching
   */
  findOther(own: string, sent: string): string | undefined {
    const { segments } = templateOf(own)
    // What is behind it is the query of the operation.
    const decoded = decodedPath(sent.replace(/\?.*$/s, ''))
    const found = this.#find(
      decoded,
      (read, other) => isMoreLiteral(other, segments, read) ?? read.length < segments.length,
    )
    // A server that forwards a decoded path ends it there.
    return found ?? this.#find(decoded.replace(/[?#\0].*$/s, ''), (read, other) => isMoreLiteral(other, segments, read))
  }

  #find(
    path: string,
    isOther: (read: string[], other: Template['segments']) => boolean | undefined,
  ): string | undefined {
    const read = routed(path)
    const matching = (this.#byLength.get(read.length) ?? []).filter(({ segments }) =>
      segments.every((segment, index) => literalIn(segment, read[index]) !== undefined),
    )
    return matching.find(({ segments }) => isOther(read, segments))?.path
  }
}

/** @returns `undefined` if both are equally literal */
function isMoreLiteral(
  one: Template['segments'],
  own: Template['segments'],
  read: readonly string[],
): boolean | undefined {
  for (const [index, text] of read.entries()) {
    const difference = (literalIn(one[index], text) ?? 0) - (literalIn(own[index], text) ?? 0)
    if (difference !== 0) return difference > 0
  }
  return undefined
}

/** Returns how many characters of a text a segment names, and one more without a parameter; `undefined` if it does not match. */
function literalIn(segment: readonly string[] = [], text = ''): number | undefined {
  const [first = '', ...others] = segment
  const last = others.pop()
  if (last === undefined) return segment.length > 0 && first === text ? text.length + 1 : undefined
  if (!text.startsWith(first)) return undefined
  let end = first.length
  for (const other of others) {
    const start = text.indexOf(other, end)
    if (start < 0) return undefined
    end = start + other.length
  }
  if (text.length - last.length < end || !text.endsWith(last)) return undefined
  return segment.join('').length
}

function templateOf(path: string): Template {
  const plain = decodedPath(path.replaceAll(/\{[^}]+\}/g, '{}')).replace(/[?#].*$/s, '')
  return { path, segments: routed(plain).map((segment) => segment.split('{}')) }
}

/** Returns the segments of a decoded path as lenient servers compare them. */
const routed = (path: string): string[] =>
  segmentsOf(path)
    // A segment of the style matrix begins with ";".
    .map((segment) => segment.replace(/[?#\0].*$|(?!^);.*$/s, '').toLowerCase())
    .filter(Boolean)

/** How often the path of a request is decoded to be checked: by gateways in front of an API, and by the API. */
const decodings = 3
const decoder = new TextDecoder()

function decodedPath(path: string): string {
  let decoded = path
  for (let count = 0; count < decodings; count += 1) {
    decoded = decoded.replaceAll(/(?:%[\da-f]{2})+/gi, (bytes) =>
      decoder.decode(Uint8Array.from(bytes.slice(1).split('%'), (byte) => Number.parseInt(byte, 16))),
    )
  }
  // Some servers ignore them.
  return decoded.replaceAll(/[\t\n\r]/g, '')
}

const segmentsOf = (decoded: string): string[] => decoded.split(/[/\\]/)

/**
 * Returns the segments of a path that lead to another one: `.` and `..`, also for a server that decodes a path before it resolves it. Some
 * servers read what is behind `;` as a parameter of the segment, and end it at NUL.
 */
export const dotSegments = (path: string): string[] =>
  segmentsOf(decodedPath(path)).filter((segment) => /^\.\.?(?:$|[;?#\0])/.test(segment))
