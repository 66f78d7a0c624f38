/** The keys of a server, as its secret has them. */

/** Keys by id, base64url of 32 bytes each. The current one, which is among them, seals; all of them open. */
export type KeyRing = { readonly current: string; readonly keys: Readonly<Record<string, string>> }

/**
 * Reads a key ring from a secret: `id:key`, comma separated, newest first; each key the base64url of 32 bytes.
 *
 * @throws Error that says what is wrong, without repeating the secret
 */
export function parseKeyRing(secret: string): KeyRing {
  // The pattern below refuses an entry that is no pair.
  const pairs = secret.split(',').map((entry) => entry.trim().split(':') as [string, string])
  const keys = Object.fromEntries(pairs)
  const areKeys = pairs.every((pair) => /^[\w-]+:[\w-]{43}$/.test(pair.join(':')))
  if (!areKeys || Object.keys(keys).length < pairs.length) {
    throw new Error(
      'The secret EDGEMCP_KEYS must be "id:key", comma separated: ids differ, keys are the base64url of 32 bytes',
    )
  }
  return { current: pairs[0]?.[0] as string, keys } // a split text has an entry
}
