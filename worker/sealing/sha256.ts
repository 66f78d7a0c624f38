import { utf8 } from '../protocol/utf8.ts'

/** Returns the SHA-256 of a text in UTF-8. */
export const sha256 = async (text: string): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(text)))
