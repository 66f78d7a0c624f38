/** What happens when the last grant of a user ends: the upstream tokens of the user are deleted, and revoked at their providers. */

type UserEntry = { readonly value: string }

/**
 * Returns the name of the object with the upstream tokens of a user without grants but those among these entries; `undefined` while others
 * remain, and for entries of another object than `user:<user>`.
 *
 * @param keys of the entries that are deleted next: grants, and tokens that were perhaps stored after the last grant had ended
 */
export function upstreamWithoutGrants(kv: SyncKvStorage, keys: readonly string[]): string | undefined {
  const [upstream] = keys.flatMap((key) => upstreamObjectIn(key, kv.get<UserEntry>(key)) ?? [])
  if (upstream === undefined) return undefined
  const deleted = new Set(keys)
  for (const [key] of kv.list({ prefix: 'grant:' })) if (!deleted.has(key)) return undefined
  return upstream
}

/** Returns the value of an entry of an object `user:<user>`; `undefined` for any other entry. A grant itself is a JSON object. */
const upstreamObjectIn = (key: string, entry: UserEntry | undefined): string | undefined =>
  /^(?:grant|storing):/.test(key) && !entry?.value.startsWith('{') ? entry?.value : undefined
