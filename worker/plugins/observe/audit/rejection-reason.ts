/** The reason of a rejection, read from the response if its error is not available. */
import { type ErrorKind, errorTable, type McpError } from '../../../protocol/errors.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import type { Why } from './event.ts'

/** Characters of a body that are read. */
const longest = 64 * 1024

/** The table has no other rows. */
const kinds = Object.entries(errorTable) as [ErrorKind, { code: number; status: number }][]

/** @param response is not consumed. Call this before its body is read */
export async function whyOf(response: Response): Promise<Why> {
  const { status, headers } = response
  const isJson = headers.get('Content-Type')?.startsWith('application/json')
  const error = isJson ? errorIn(await response.clone().text()) : undefined
  const kind = kindOf(status, error)
  const message = typeof error?.message === 'string' ? error.message : `HTTP ${status}`
  return { kind, message, reason: reasonOf(kind, error?.data) }
}

export const whyFrom = ({ kind, message, data }: McpError): Why => ({ kind, message, reason: reasonOf(kind, data) })

/** Returns the limit that was exceeded: only its errors have `data.reason`. */
const reasonOf = (kind: Why['kind'], data: unknown): string | undefined =>
  kind === 'too_many_requests' && isObject(data) && typeof data.reason === 'string' ? data.reason : undefined

type ErrorBody = { code?: unknown; message?: unknown; data?: unknown }

function errorIn(text: string): ErrorBody | undefined {
  if (text.length > longest) return undefined
  try {
    const answer: unknown = JSON.parse(text)
    return isObject(answer) && isObject(answer.error) ? answer.error : undefined
  } catch {
    return undefined
  }
}

function kindOf(status: number, error: ErrorBody | undefined): Why['kind'] {
  if (!error && status === 404) return 'not_found'
  // Two kinds have the same numbers, and only one of them says what it takes.
  if (status === 403 && isObject(error?.data) && 'scopes' in error.data) return 'insufficient_scope'
  const alike = kinds.filter(([, numbers]) => numbers.status === status)
  const [kind] = alike.find(([, { code }]) => code === error?.code) ?? alike[0] ?? []
  return kind ?? 'unknown'
}
