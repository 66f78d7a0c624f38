import { utf8 } from '../../protocol/utf8.ts'

/** A file of an archive. */
export type ZipFile = { readonly path: string; readonly bytes: Uint8Array }

/** The first day that the format knows, so that the same files are the same archive. */
const date = 0x0021
/** Names are UTF-8. */
const flags = 0x0800
const version = 20

/**
 * Writes a ZIP archive, without compression: the same files result in the same bytes on every runtime, and so in the same digest.
 *
 * @see https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
 */
export function zip(files: readonly ZipFile[]): Uint8Array<ArrayBuffer> {
  const entries: Uint8Array[] = []
  const directory: Uint8Array[] = []
  let offset = 0
  for (const { path, bytes } of files) {
    const name = utf8(path)
    // The time, the date, the checksum, the sizes, and the lengths of the name and of no extra field.
    const common = [
      ...[half(version), half(flags), half(0), half(0), half(date)],
      ...[word(crc32(bytes)), word(bytes.length), word(bytes.length), half(name.length), half(0)],
    ]
    const entry = joined([word(0x04034b50), ...common, name, bytes])
    // No comment, the first disk, no attributes.
    const rest = [half(0), half(0), half(0), word(0), word(offset), name]
    directory.push(joined([word(0x02014b50), half(version), ...common, ...rest]))
    entries.push(entry)
    offset += entry.length
  }
  const central = joined(directory)
  const count = half(files.length)
  const end = [word(0x06054b50), half(0), half(0), count, count, word(central.length), word(offset), half(0)]
  return joined([...entries, central, ...end])
}

const half = (value: number): Uint8Array => new Uint8Array([value, value >>> 8])
const word = (value: number): Uint8Array => new Uint8Array([value, value >>> 8, value >>> 16, value >>> 24])

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** @see https://www.w3.org/TR/png/#D-CRCAppendix */
function crc32(bytes: Uint8Array): number {
  let crc = -1
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc
}
