import { withImplied } from '../auth/claims.ts'
import type { IdentityProvider } from './providers/provider.ts'

type Implying = Pick<IdentityProvider, 'impliedScopes'>

/** Returns the scopes that a provider granted, with those that they include, as the provider spells them. */
export const heldScopes = ({ impliedScopes }: Implying, granted: readonly string[]): ReadonlySet<string> =>
  withImplied(granted, impliedScopes)

/** Returns the scope to request for a scope that is needed: itself, or one that includes it. `undefined`: the provider lists none. */
export const requestableFor = (
  provider: Implying & Pick<IdentityProvider, 'knownScopes'>,
  scope: string,
): string | undefined =>
  provider.knownScopes.includes(scope)
    ? scope
    : provider.knownScopes.find((one) => heldScopes(provider, [one]).has(scope))
