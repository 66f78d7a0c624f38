/** Requests to an authorization server: only to safe addresses, with a timeout, and with a bound on the size of the response. */
import { readBodyText } from '../../protocol/bounded-body.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import { isLoopback } from '../../protocol/loopback.ts'
import type { Params } from '../../protocol/types.ts'

/** Sends a request, as the global `fetch` does. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Milliseconds to wait for a response. */
const timeoutMs = 5_000
/** Bytes of one response. */
const maxBytes = 256 * 1024

/** A response with an error status. */
export class Refused extends Error {
  readonly status: number

  constructor(url: string, status: number) {
    super(`${url} answered with ${status}`)
    this.status = status
  }
}

type JsonRequest = Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> }

/** @throws Refused for an error status; Error without a response, and for a response that is not a JSON object */
export async function fetchJson(fetch: Fetch, url: string, init: JsonRequest = {}): Promise<Params> {
  const response = await fetch(url, {
    ...init,
    headers: { Accept: 'application/json', ...init.headers },
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Refused(url, response.status)
  }
  const value: unknown = JSON.parse(await textOf(response, url))
  if (!isObject(value)) throw new Error(`${url} is not a JSON object`)
  return value
}

/**
 * Checks that only the named server can answer at an address.
 *
 * @param from the address that named it; loopback may name loopback
 * @throws Error for a URL that is neither https nor http on this machine
 */
export function safeUrl(text: string, what: string, from = text): string {
  const url = URL.parse(text)
  const isLocal = (address: URL | null) => address !== null && isLoopback(address.hostname)
  if (url?.protocol === 'https:') return text
  if (url?.protocol === 'http:' && isLocal(url) && isLocal(URL.parse(from))) return text
  throw new Error(`${what} "${text}" must be an https URL`)
}

async function textOf(response: Response, url: string): Promise<string> {
  const { text, length } = await readBodyText(response.body, maxBytes)
  if (length > maxBytes) throw new Error(`${url} is longer than ${maxBytes} bytes`)
  return text
}
