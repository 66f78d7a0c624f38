/** The HTTP request of a call as a text: a session receives one with each POST, and most handlers read none of it. */
import type { HttpRequest } from '../declarations/http-request.ts'

/** @returns JSON of the URL and the headers. It contains credentials: it must not be stored */
export const httpRequestText = ({ url, headers }: Pick<HttpRequest, 'url' | 'headers'>): string =>
  JSON.stringify([url, [...headers]])

/** @param text of `httpRequestText`. It is parsed when a handler reads the URL or the headers @param address IP address of the client */
export function readHttpRequest(text: string, address: string | undefined): HttpRequest {
  let parts: Pick<HttpRequest, 'url' | 'headers'> | undefined
  const read = () => {
    if (parts) return parts
    const [url, headers] = JSON.parse(text)
    // biome-ignore lint/style/noRestrictedGlobals: the type of `ctx.request.headers`
    parts = { url, headers: new Headers(headers) }
    return parts
  }
  return {
    method: 'POST',
    get url() {
      return read().url
    },
    get headers() {
      return read().headers
    },
    address,
  }
}
