/** The HTTP requests to an upstream: a POST per message, a GET that resumes a stream, a DELETE that ends a session. */

import { isTimeoutError } from '../../../client/request-guard.ts'
import { scopesIn } from '../../../declarations/upstream-token.ts'
import { errorTable, McpError } from '../../../protocol/errors.ts'
import type { RequestMessage } from '../../../protocol/jsonrpc.ts'
import type { Peer } from './match-response.ts'
import { bounded, httpError, TokenRefused } from './upstream-errors.ts'
import { type ProtocolHeaders, withProtocolHeaders } from './upstream-headers.ts'
import type { UpstreamSession } from './upstream-sessions.ts'

export type RemotePlatform = {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly waitUntil: (work: Promise<unknown>) => void
}

/** What a request has from its caller. */
export type Sender = {
  /** Headers from the option `headers` of `proxy()`. */
  readonly headers: Readonly<Record<string, string>>
  /** Whether `headers` have a token of the user. */
  readonly hasToken?: boolean
  readonly signal: AbortSignal
  /** Time of the timeout of `signal`, in milliseconds since 1970. */
  readonly untilMs: number
}

const endTimeoutMs = 5_000
const endTimeout = () => ({ signal: AbortSignal.timeout(endTimeoutMs), untilMs: Date.now() + endTimeoutMs })

export class UpstreamHttp {
  readonly url: string
  readonly host: string
  readonly #platform: RemotePlatform

  /** @param url absolute */
  constructor(url: string, platform: RemotePlatform) {
    this.url = url
    this.host = new URL(url).host
    this.#platform = platform
  }

  /** @throws McpError `unavailable` when the response is a redirect, or not that of an MCP server */
  async post(message: object, { headers, signal, hasToken }: Sender, own: ProtocolHeaders): Promise<Response> {
    const protocol = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...own }
    const response = await this.#platform.fetch(this.url, {
      method: 'POST',
      // Another origin must not get the headers, which are credentials.
      redirect: 'manual',
      signal,
      headers: withProtocolHeaders(headers, protocol),
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
    const refused = { status: response.status, challenge: response.headers.get('WWW-Authenticate') }
    if (hasToken && (refused.status === 401 || (refused.status === 403 && scopesIn(refused.challenge).length > 0))) {
      await response.body?.cancel()
      throw new TokenRefused(this.host, refused)
    }
    const isRefused = response.status >= 500 && !isJson(response)
    const isRedirect = response.status >= 300 && response.status < 400
    if (!isRefused && !isRedirect) return response
    await response.body?.cancel()
    throw isRedirect ? this.#redirected(response) : httpError(this.host, response)
  }

  /** Sends a message without a response, even if the caller has disconnected. Never rejects. */
  async notify(message: object, { headers }: Sender, session: ProtocolHeaders): Promise<void> {
    await this.post(message, { headers, ...endTimeout() }, session)
      .then((response) => response.body?.cancel())
      .catch(() => {})
  }

  /**
   * Continues a stream that ended before its response.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
   */
  async resume(lastEventId: string, { headers, signal }: Sender, session: ProtocolHeaders): Promise<Response> {
    const own = { Accept: 'text/event-stream', 'Last-Event-ID': lastEventId, ...session }
    return this.#platform.fetch(this.url, {
      method: 'GET',
      redirect: 'manual',
      signal,
      headers: withProtocolHeaders(headers, own),
    })
  }

  /**
   * Notifies the upstream that a request is cancelled. The notification may come too late, so failures are ignored.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
   */
  cancel(requestId: string, sender: Sender, session: ProtocolHeaders): Promise<void> {
    const reason = isTimeout(sender.signal) ? 'The request timed out' : 'The caller cancelled the request'
    return this.notify({ method: 'notifications/cancelled', params: { requestId, reason } }, sender, session)
  }

  /** Answers requests of the upstream: this client declares no capabilities, so only `ping`. */
  peer(sender: Sender, session: ProtocolHeaders): Peer {
    return {
      onRequest: ({ id, method }: RequestMessage) => {
        const error = { code: errorTable.method_not_found.code, message: `Method not found: ${method}` }
        const answer = method === 'ping' ? { result: {} } : { error }
        this.#platform.waitUntil(this.notify({ id, ...answer }, sender, session))
      },
    }
  }

  /** Ends a session on the upstream. An upstream may reject that: then the session expires there. */
  endSession(session: UpstreamSession): void {
    if (session.id === null) return
    const ended = this.#platform
      .fetch(this.url, {
        method: 'DELETE',
        redirect: 'manual',
        signal: AbortSignal.timeout(endTimeoutMs),
        headers: withProtocolHeaders(session.headers, sessionHeaders(session)),
      })
      .then((response) => response.body?.cancel())
      .catch(() => {})
    this.#platform.waitUntil(ended)
  }

  #redirected(response: Response): McpError {
    const to = URL.parse(response.headers.get('Location') ?? '', this.url)
    const where = to ? `${to.origin}${to.pathname}` : 'nowhere'
    return new McpError(
      'unavailable',
      bounded(
        `The server at ${this.host} redirects to ${where}: proxy() follows no redirects, so give it the URL that answers`,
      ),
    )
  }
}

export const isTimeout = ({ reason }: AbortSignal): boolean => isTimeoutError(reason)

const isJson = ({ headers }: Response) => /^application\/json/i.test(headers.get('Content-Type') ?? '')

export const sessionHeaders = ({ id, version }: UpstreamSession): ProtocolHeaders => ({
  'MCP-Protocol-Version': version,
  ...(id !== null && { 'Mcp-Session-Id': id }),
})
