/** A server declares what its tokens claim, and every handler knows. */
import type { Principal } from 'edgemcp'
import type { SignInClaims } from 'edgemcp/sign-in'
import { type Equal, is } from './equal.ts'

declare module 'edgemcp' {
  interface Claims extends SignInClaims {
    readonly plan?: 'free' | 'pro'
  }
}

export function emailOf({ claims }: Principal): string | undefined {
  const { email, plan, email_verified, groups, tenant, other } = claims
  is<Equal<typeof plan, 'free' | 'pro' | undefined>>()
  is<Equal<typeof email_verified, boolean | undefined>>()
  is<Equal<typeof groups, readonly string[] | undefined>>()
  is<Equal<typeof tenant, string | undefined>>()
  is<Equal<typeof email, string | undefined>>()
  is<Equal<typeof other, unknown>>()
  return email
}
