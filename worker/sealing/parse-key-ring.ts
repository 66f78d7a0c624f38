/** The keys of a server, as its secret contains them. */

/** Keys by id, each the base64url of 32 bytes. The current key, which is one of them, seals; all of them unseal. */
export type KeyRing = { readonly current: string; readonly keys: Readonly<Record<string, string>> }

/**
 * Parses a key ring: `id:key`, separated by commas, newest first; each key is the base64url of 32 bytes.
 *
 * @throws Error for a malformed secret. The message does not contain the secret
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
