/**
 * Sends one signed POST to a callback URL.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
import { readBodyText } from '../../worker/protocol/bounded-body.ts'
import { sign } from './signature.ts'

/** Bytes of a response that is read: a longer one counts as empty, however the network divides it. */
const maxResponseBytes = 4096

export type Webhook = {
  readonly url: string
  /** The current secret, and those that it replaced a short time ago. */
  readonly secrets: readonly string[]
  readonly subscription: string
  readonly id: string
  readonly body: string
}

/** The status of a response, with its body if that is read; or why there is none. */
export type WebhookResponse =
  | { readonly status: number; readonly text: string }
  | { readonly status: undefined; readonly reason: 'timeout' | 'connection_refused' }

/** Redirects are not followed. */
export async function postWebhook(
  { url, secrets, subscription, id, body }: Webhook,
  timeoutMs: number,
  readsBody = false,
): Promise<WebhookResponse> {
  const seconds = Math.floor(Date.now() / 1000)
  const headers = {
    'Content-Type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': await sign(secrets, { id, seconds, body }),
    'X-MCP-Subscription-Id': subscription,
  }
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })
    if (readsBody) {
      const { text, length } = await readBodyText(response.body, maxResponseBytes)
      return { status: response.status, text: length > maxResponseBytes ? '' : text }
    }
    // A body that does not end changes nothing.
    response.body?.cancel().catch(() => {})
    return { status: response.status, text: '' }
  } catch {
    return { status: undefined, reason: signal.aborted ? 'timeout' : 'connection_refused' }
  }
}
