import type { IdentityProvider } from './providers/provider.ts'

type Implying = Pick<IdentityProvider, 'impliedScopes'>

/** Whether scopes that a provider granted include another one, as the provider spells them. */
export function holdsScope({ impliedScopes = {} }: Implying, granted: readonly string[], scope: string): boolean {
  const all = new Set(granted)
  // The loop also visits what it adds.
  for (const one of all) {
    for (const implied of Object.hasOwn(impliedScopes, one) ? (impliedScopes[one] ?? []) : []) all.add(implied)
  }
  return all.has(scope)
}

/** Returns the scope to request for a scope that is needed: itself, or one that includes it. `undefined`: the provider lists none. */
export const requestableFor = (
  provider: Implying & Pick<IdentityProvider, 'knownScopes'>,
  scope: string,
): string | undefined =>
  provider.knownScopes.includes(scope) ? scope : provider.knownScopes.find((one) => holdsScope(provider, [one], scope))
