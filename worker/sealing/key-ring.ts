/** The keys of a server, as its secret has them. */

/** Keys by id, base64url of 32 bytes each. The current one, which is among them, seals; all of them open. */
export type KeyRing = { readonly current: string; readonly keys: Readonly<Record<string, string>> }

/**
 * Reads a key ring from a secret: `id:key`, comma separated, newest first; each key the base64url of 32 bytes.
 *
 * @throws Error that says what is wrong, without repeating the secret
 */
export function parseKeyRing(secret: string): KeyRing {
  const entries = secret.split(',').map((entry) => /^([\w-]+):([\w-]{43})$/.exec(entry.trim()) ?? [])
  const keys = Object.fromEntries(entries.map(([, id = '', key = '']) => [id, key]))
  const [[, current] = []] = entries
  if (!current || '' in keys || Object.keys(keys).length < entries.length) {
    throw new Error(
      'The secret EDGEMCP_KEYS must be a comma-separated list of "id:key": ids differ, keys are 32 bytes in base64url',
    )
  }
  return { current, keys }
}
