/**
 * Webhooks, as their receivers read them.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
import { decodeBase64, encodeBase64 } from '../protocol/base64.ts'
import { utf8 } from '../protocol/utf8.ts'

/** A webhook. What its sender leaves out is empty. */
export type Webhook = {
  readonly id: string
  /** Seconds since 1970. */
  readonly timestamp: string
  /** Signatures with a space between them. */
  readonly signature: string
  /** Id of the subscription. */
  readonly subscription: string
  readonly text: string
}

export const webhookOf = (headers: Headers, text: string): Webhook => ({
  id: headers.get('webhook-id') ?? '',
  timestamp: headers.get('webhook-timestamp') ?? '',
  signature: headers.get('webhook-signature') ?? '',
  subscription: headers.get('X-MCP-Subscription-Id') ?? '',
  text,
})

export const newSecret = (): string => `whsec_${encodeBase64(crypto.getRandomValues(new Uint8Array(32)))}`

/** Whether a webhook is signed with a secret, at any time. */
export async function isSigned({ id, timestamp, signature, text }: Webhook, secret: string): Promise<boolean> {
  const bytes = decodeBase64(secret.replace('whsec_', ''))
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const signed = await crypto.subtle.sign('HMAC', key, utf8(`${id}.${timestamp}.${text}`))
  return signature.split(' ').includes(`v1,${encodeBase64(new Uint8Array(signed))}`)
}
