/** The content types that a client accepts, and HTTP 406 for one that accepts none of those that a response can have. */
import { McpError } from '../protocol/errors.ts'
import { memoizeLast } from '../protocol/memoize-last.ts'

/** The content types that a client accepts. Without the header it accepts all, as in HTTP. */
export type AcceptedTypes = { readonly json: boolean; readonly stream: boolean }

/** @see https://www.rfc-editor.org/rfc/rfc9110#name-accept */
export const accepts = (header: string | null): AcceptedTypes => memoized(header ?? '')

/** Returns the error for a client that accepts neither JSON nor event streams. */
export const refusedTypes = ({ json, stream }: AcceptedTypes): McpError | undefined =>
  json || stream
    ? undefined
    : new McpError('not_acceptable', 'Accept must include application/json or text/event-stream')

/** @throws McpError `not_acceptable` for a client that does not accept event streams */
export function requireStream({ stream }: AcceptedTypes): void {
  if (!stream) throw new McpError('not_acceptable', 'Accept must include text/event-stream')
}

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
