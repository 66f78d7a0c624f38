/** A server declares what its tokens claim, and every handler knows. */
import type { Principal } from 'edgemcp'
import { type Equal, is } from './equal.ts'

declare module 'edgemcp' {
  interface Claims {
    readonly email?: string
  }
}

export function emailOf({ claims }: Principal): string | undefined {
  const { email, other } = claims
  is<Equal<typeof email, string | undefined>>()
  is<Equal<typeof other, unknown>>()
  return email
}
