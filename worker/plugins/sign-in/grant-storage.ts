/**
 * The storage of `@cloudflare/workers-oauth-provider`, on Durable Objects instead of KV: what was written is read, everywhere and at once.
 * A grant and its tokens are in one object; the grants of a user, each client, and each value that is used once in others: see
 * `durable-objects/sign-in/object.ts`.
 *
 * @see https://developers.cloudflare.com/kv/api/
 */
import type { EntryStorage, ListedGrant, StoredKey } from '../../../durable-objects/sign-in/rpc.ts'

/** What the library calls of a KV namespace. */
export interface GrantStorage {
  get(key: string, options?: { type?: string }): Promise<unknown>
  put(key: string, value: string, options?: PutOptions): Promise<void>
  delete(key: string): Promise<void>
  list(options: { prefix?: string }): Promise<Listed>
}

/** The storage of one request. */
export interface RequestStorage extends GrantStorage {
  /** Lets another request use the assertion of an organization that this one was the first to use. */
  release(): Promise<void>
}

/** `expirationTtl`: seconds from now. `expiration`: seconds since 1970. */
type PutOptions = { readonly expirationTtl?: number; readonly expiration?: number; readonly metadata?: unknown }

type Listed = { readonly keys: readonly StoredKey[]; readonly list_complete: true }

/**
 * @param objectOf returns the object of a key
 * @param upstreamOf returns the name of the object with the upstream tokens of a user
 */
export function grantStorage(
  objectOf: (key: string) => EntryStorage,
  upstreamOf: (user: string) => string,
): RequestStorage {
  let reserved: string | undefined
  /** Lists a grant with its user, and since when, before it is stored: a grant that nobody can list could not be revoked. */
  const addToUser = async (
    key: string,
    metadata: unknown,
    expires: number | undefined,
    isCode: boolean,
    client: string,
  ) => {
    const user = userOf(key)
    const [known] = await objectOf(objectKeyOf(key)).list(key)
    if (known && known.expires === expires && JSON.stringify(known.metadata) === JSON.stringify(metadata)) return
    const listed: ListedGrant = { since: Date.now(), isCode, client }
    await objectOf(`user:${user}`).write(key, upstreamOf(user), listed, expires)
  }
  return {
    async get(key, { type } = {}) {
      const object = objectOf(objectKeyOf(key))
      const text = isReplayMarker(key)
        ? await object.reserve(key)
        : await object.read(key, key.startsWith('transaction:'))
      if (text === null && key.startsWith('enterprise-jti:')) reserved = key
      return type === 'json' && text !== null ? JSON.parse(text) : text
    },
    async put(key, value, { expirationTtl, expiration, metadata } = {}) {
      const expires = expirationTtl === undefined ? expiration && expiration * 1000 : Date.now() + expirationTtl * 1000
      // The library tells how long a code is valid, and when a grant expires.
      if (key.startsWith('grant:')) {
        const { clientId }: { clientId: string } = JSON.parse(value)
        await addToUser(key, metadata, expires, expirationTtl !== undefined, clientId)
      }
      const until = isReplayMarker(key) && expires !== undefined ? expires + clockSkewMs : expires
      await objectOf(objectKeyOf(key)).write(key, value, metadata, until)
    },
    async delete(key) {
      await objectOf(objectKeyOf(key)).remove(key)
      if (key.startsWith('grant:')) await objectOf(`user:${userOf(key)}`).remove(key)
    },
    async list({ prefix = '' }) {
      const [kind, user] = prefix.split(':')
      // The library lists them to delete them one by one. A grant is deleted with its tokens.
      if (kind === 'token') return { keys: [], list_complete: true }
      if (kind === 'grant' && user) return { keys: await objectOf(`user:${user}`).list(prefix), list_complete: true }
      throw new Error(`Sign-in cannot list all keys that start with "${prefix}": name a user`)
    },
    async release() {
      if (reserved !== undefined) await objectOf(reserved).remove(reserved)
    },
  }
}

/** Milliseconds for which the library accepts an assertion after its expiry, with a reserve. It stores the marker until the expiry. */
const clockSkewMs = 2 * 60_000

/** The library reads such a key, and then stores it: an assertion that was used. */
const isReplayMarker = (key: string): boolean => /^[\w-]*jti:/.test(key)

/** Returns the key of the object that stores a key of the library. */
export function objectKeyOf(key: string): string {
  const [, user, grant] = /^(?:grant|token):([^:]*):([^:]*)/.exec(key) ?? []
  return user === undefined ? key : `grant:${user}:${grant}`
}

const userOf = (grantKey: string): string => grantKey.split(':')[1] ?? ''
