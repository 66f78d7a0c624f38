/**
 * Signatures of webhooks.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
import { decodeBase64, encodeBase64 } from '../../worker/protocol/base64.ts'
import { utf8 } from '../../worker/protocol/utf8.ts'

const prefix = 'whsec_'

/** Returns the bytes of a secret: `whsec_` and 24 to 64 bytes in base64; `undefined` for another text. */
export function readSecret(secret: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (typeof secret !== 'string' || !/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/.test(secret)) return undefined
  try {
    const bytes = decodeBase64(secret.slice(prefix.length))
    return bytes.byteLength >= 24 && bytes.byteLength <= 64 ? bytes : undefined
  } catch {
    return undefined
  }
}

/** Returns the header `webhook-signature`: one signature for each secret. @param seconds since 1970 */
export async function sign(
  secrets: readonly string[],
  { id, seconds, body }: { readonly id: string; readonly seconds: number; readonly body: string },
): Promise<string> {
  const signed = utf8(`${id}.${seconds}.${body}`)
  const signatures = secrets
    .flatMap((secret) => readSecret(secret) ?? [])
    .map(async (bytes) => {
      const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
      return `v1,${encodeBase64(new Uint8Array(await crypto.subtle.sign('HMAC', key, signed)))}`
    })
  return (await Promise.all(signatures)).join(' ')
}
