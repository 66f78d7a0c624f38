import type { HttpRequest } from '../../worker/declarations/http-request.ts'
import type { ForwardedHttpRequest } from '../rpc.ts'

/** @param address IP address of the client @returns the HTTP request as handlers get it; `undefined` without one */
export const httpRequestFrom = (
  http: ForwardedHttpRequest | undefined,
  address: string | undefined,
): HttpRequest | undefined => http && new HttpRequestFromPost(http, address)

/** Most handlers read no headers, and creating them takes as long as a tenth of a short call. */
class HttpRequestFromPost implements HttpRequest {
  readonly method = 'POST'
  readonly url: string
  readonly address: string | undefined
  #headers: string | Headers

  constructor({ url, headers }: ForwardedHttpRequest, address: string | undefined) {
    this.url = url
    this.address = address
    this.#headers = headers
  }

  get headers(): Headers {
    if (typeof this.#headers === 'string') this.#headers = readLines(this.#headers)
    return this.#headers
  }
}

function readLines(lines: string): Headers {
  const headers = new Headers()
  for (const line of lines.split('\n')) {
    const [name = '', ...value] = line.split(': ')
    if (name) headers.append(name, value.join(': '))
  }
  return headers
}
