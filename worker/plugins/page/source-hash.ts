import { utf8 } from '../../protocol/utf8.ts'

/** @see https://www.w3.org/TR/CSP3/#grammardef-hash-source */
export async function sourceHash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', utf8(text))
  return `'sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}'`
}
