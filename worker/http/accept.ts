/** Which forms of an answer a client takes. A missing header takes everything, as in HTTP. */
export type Accepts = { readonly json: boolean; readonly stream: boolean }

/** Clients send the same all the time. */
const read = new Map<string, Accepts>()
const [mostRead, longestRead] = [100, 200]

/** @see https://www.rfc-editor.org/rfc/rfc9110#name-accept */
export function accepts(header: string | null): Accepts {
  const text = header ?? ''
  const known = read.get(text)
  if (known) return known
  const found = readAccept(text)
  if (read.size === mostRead) read.clear()
  if (text.length <= longestRead) read.set(text, found)
  return found
}

function readAccept(header: string): Accepts {
  if (!header.trim()) return { json: true, stream: true }
  const ranges = new Map<string, boolean>()
  for (const range of header.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    ranges.set(type, !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)))
  }
  // The most specific range decides.
  const takes = (...types: string[]) =>
    types.map((type) => ranges.get(type)).find((taken) => taken !== undefined) ?? false
  return {
    json: takes('application/json', 'application/*', '*/*'),
    stream: takes('text/event-stream', 'text/*', '*/*'),
  }
}
