import { utf8 } from '../../protocol/utf8.ts'

/**
 * Writes a ZIP archive. It has no compression and no times, so that the same files give the same bytes in every isolate: an index has their
 * digest.
 *
 * @param files by path, with `/` between folders; together less than 4 GiB
 * @see https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
 */
export function zip(files: readonly (readonly [path: string, bytes: Uint8Array])[]): Uint8Array<ArrayBuffer> {
  const local: Uint8Array[] = []
  const central: Uint8Array[] = []
  let offset = 0
  for (const [path, bytes] of files) {
    const name = utf8(path)
    const header = Uint8Array.of(
      ...u16(20), // version to extract
      ...u16(0x800), // names are UTF-8
      ...u16(0), // method: stored
      ...u16(0), // time
      ...u16(0x21), // date: 1980-01-01, the first one
      ...u32(crc32(bytes)),
      ...u32(bytes.length),
      ...u32(bytes.length),
      ...u16(name.length),
      ...u16(0), // length of the extra field
    )
    const place = Uint8Array.of(
      ...u16(0), // length of the comment
      ...u16(0), // disk
      ...u16(0), // internal attributes
      ...u32(0o100644 << 16), // external attributes: a file of Unix, with its mode
      ...u32(offset),
    )
    const parts = [Uint8Array.of(...u32(0x04034b50)), header, name, bytes]
    local.push(...parts)
    central.push(Uint8Array.of(...u32(0x02014b50), ...u16(madeBy)), header, place, name)
    offset += lengthOf(parts)
  }
  const count = u16(files.length)
  const end = [...u32(0x06054b50), ...u16(0), ...u16(0), ...count, ...count, ...u32(lengthOf(central)), ...u32(offset)]
  return joined([...local, ...central, Uint8Array.of(...end, ...u16(0))])
}

/** Unix, version 2.0: Info-ZIP reads names of DOS in a code page, although a flag says that they are UTF-8. */
const madeBy = 0x0314

const u16 = (value: number): number[] => [value & 0xff, (value >>> 8) & 0xff]
const u32 = (value: number): number[] => [...u16(value), ...u16(value >>> 16)]
const lengthOf = (parts: readonly Uint8Array[]): number => parts.reduce((sum, { length }) => sum + length, 0)

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(lengthOf(parts))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

const table = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

function crc32(bytes: Uint8Array): number {
  let crc = -1
  for (const byte of bytes) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 0xff] ?? 0)
  return ~crc
}
