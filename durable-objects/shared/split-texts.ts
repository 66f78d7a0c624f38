/**
 * Texts of several megabytes in key-value storage. A value has at most 2 MB, so each text is split into the values `<key>:0`, `<key>:1` and
 * so on. The local runtime accepts larger values than production.
 *
 * @see https://developers.cloudflare.com/durable-objects/platform/limits/
 */

/** Bytes of one value. The platform accepts 2 MB, including keys and headers. */
export const maxValueBytes = 1_900_000

/** Characters of one value. A character takes at most two bytes. */
const maxPartCharacters = 900_000

/** Returns the text of a key; an empty text if there is none. */
export function readParts(kv: SyncKvStorage, key: string): string {
  let text = ''
  for (let part = 0; ; part += 1) {
    const found = kv.get<string>(`${key}:${part}`)
    if (found === undefined) return text
    text += found
  }
}

/** Replaces the text of a key. An empty text deletes it. */
export function writeParts(kv: SyncKvStorage, key: string, text: string): void {
  let part = 0
  for (; part * maxPartCharacters < text.length; part += 1) {
    kv.put(`${key}:${part}`, text.slice(part * maxPartCharacters, (part + 1) * maxPartCharacters))
  }
  // The parts of a longer text that was there before.
  for (; kv.delete(`${key}:${part}`); part += 1);
}

/** Returns the bytes of a text in storage and in RPC: one per character if all are Latin-1, else two. */
export function bytesOf(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of Latin-1
  return /^[\u0000-\u00ff]*$/.test(text) ? text.length : text.length * 2
}
