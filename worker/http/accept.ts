import { memoizeLast } from './memoize-last.ts'

/** The content types that a client accepts. Without the header it accepts all, as in HTTP. */
export type AcceptedTypes = { readonly json: boolean; readonly stream: boolean }

/** @see https://www.rfc-editor.org/rfc/rfc9110#name-accept */
export const accepts = (header: string | null): AcceptedTypes => memoized(header ?? '')

const memoized = memoizeLast(readAccept)

function readAccept(header: string): AcceptedTypes {
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
