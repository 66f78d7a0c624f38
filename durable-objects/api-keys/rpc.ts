/** The RPC interfaces of API keys. Types only, so that `worker/` can import them. */

import type { Params } from '../../worker/protocol/types.ts'

/** What is stored of an API key: never the key itself. Times are milliseconds since 1970. */
export type StoredApiKey = {
  readonly id: string
  /** The SHA-256 of the key. */
  readonly hash: string
  readonly subject: string
  readonly tenant?: string | undefined
  readonly name?: string | undefined
  readonly scopes: readonly string[]
  readonly claims: Readonly<Params>
  readonly createdAt: number
  readonly expiresAt?: number | undefined
  readonly lastUsedAt?: number | undefined
  /** The id of the key that was created in its place. */
  readonly replacedBy?: string | undefined
}

/** The RPC interface of the object of an API key. `subject` and `tenant` are those of its owner: the key of another one is unknown. */
export interface ApiKeyRpc {
  /** Returns the key with this hash, and whether its use is to be recorded. */
  verify(hash: string): Promise<{ readonly key: StoredApiKey; readonly isUseDue: boolean } | undefined>
  recordUse(): Promise<void>
  create(key: StoredApiKey): Promise<void>
  describe(subject: string, tenant: string | undefined): Promise<StoredApiKey | undefined>
  /** Returns false for an unknown key. */
  revoke(subject: string, tenant: string | undefined): Promise<boolean>
  /** Lets the key expire. Returns when, or `undefined` for a key that is unknown or was replaced before. */
  replace(subject: string, tenant: string | undefined, by: string, until: number): Promise<number | undefined>
}

/** The RPC interface of the object that lists the API keys of an owner. */
export interface ApiKeyOwnerRpc {
  /**
   * Adds a key before it is created. Returns why it does not: the owner has as many keys that are not replaced, or as many that are.
   *
   * @param maxKeys keys that are not replaced
   */
  add(
    id: string,
    createdAt: number,
    expiresAt: number | undefined,
    maxKeys: number,
  ): Promise<'too many keys' | 'too many replaced keys' | undefined>
  setReplaced(id: string, expiresAt: number): Promise<void>
  list(): Promise<readonly { readonly id: string; readonly createdAt: number }[]>
  remove(ids: readonly string[]): Promise<void>
}
