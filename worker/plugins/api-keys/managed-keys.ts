/** Creates, lists, revokes and rotates the API keys of owners. */
import type { ApiKeyOwnerRpc, ApiKeyRpc, StoredApiKey } from '../../../durable-objects/api-keys/rpc.ts'
import { checkOptions, isObject, type Kind, type KindsOf } from '../../declarations/check-options.ts'
import { type Duration, milliseconds, millisecondsOrInfinity } from '../../declarations/duration.ts'
import * as kind from '../../declarations/option-kinds.ts'
import { ToolError } from '../../protocol/errors.ts'
import { jsonText } from '../../protocol/json-text.ts'
import type { Params } from '../../protocol/types.ts'
import { hashOf, isId, newKeyText } from './key-text.ts'

/** Names the owner of API keys: the subject, and the tenant, of the principals of its keys. */
export type ApiKeyOwner = {
  /** The user or machine, at most 256 characters. */
  subject: string
  /** The organization that the subject acts for. Default: none. */
  tenant?: string | undefined
}

/** Configures a new API key. */
export type NewApiKeyOptions = {
  /** Name of the key for its owner, at most 100 characters. Default: none. */
  name?: string
  /** Scopes of the key. Default: none. */
  scopes?: readonly string[]
  /** Claims of the principal: JSON, at most 4,096 characters. Default: none. */
  claims?: Readonly<Params>
  /** Time until the key expires: milliseconds, a text such as `90d`, or `Infinity`. Default: 365 days. */
  expiresIn?: Duration
}

/** Configures the rotation of an API key. */
export type RotateOptions = {
  /** Time for which the old key remains valid. Default: 1 day. */
  grace?: Duration
  /** Time until the new key expires. Default: that of the old key when it was created. */
  expiresIn?: Duration
}

/** Describes an API key, without its secret. Times are milliseconds since 1970. */
export type ApiKey = {
  /** Identifies the key. It is no secret. */
  readonly id: string
  /** The name that the key was given; `undefined` without one. */
  readonly name?: string | undefined
  /** Scopes of the key. */
  readonly scopes: readonly string[]
  /** Claims of the key. */
  readonly claims: Readonly<Params>
  /** When it was created. */
  readonly createdAt: number
  /** When it expires; `undefined`: never. */
  readonly expiresAt?: number | undefined
  /** When it was last used, up to an hour earlier than the last use; `undefined`: never. */
  readonly lastUsedAt?: number | undefined
  /** The id of the key that was created in its place; `undefined` for a key that was not rotated. */
  readonly replacedBy?: string | undefined
}

/** Describes a new API key, with its secret. */
export type NewApiKey = ApiKey & {
  /** The secret. It is not stored, so it cannot be read again. */
  readonly key: string
}

/** Manages API keys: in handlers, and in any code of the Worker once `serve()` was called. */
export interface ApiKeyManager {
  /**
   * Creates a key. Show `key` to its owner: it is not stored.
   *
   * @throws Error for an invalid argument; ToolError if the owner has `maxPerOwner` keys
   */
  create(owner: ApiKeyOwner, options?: NewApiKeyOptions): Promise<NewApiKey>
  /** Returns the keys of an owner that have not expired, the oldest first. @throws Error for an invalid argument */
  list(owner: ApiKeyOwner): Promise<readonly ApiKey[]>
  /**
   * Revokes a key of an owner. Isolates that have verified the key accept it for up to `tokenCacheMs`.
   *
   * @returns false if the owner has no such key
   * @throws Error for an invalid argument
   */
  revoke(owner: ApiKeyOwner, id: string): Promise<boolean>
  /**
   * Creates a key in the place of one of the owner, with its name, scopes and claims. The old one expires after `grace`.
   *
   * @throws Error for an invalid argument; ToolError for an unknown key, for one that was rotated before, and as `create` does
   */
  rotate(owner: ApiKeyOwner, id: string, options?: RotateOptions): Promise<NewApiKey>
}

/** The objects of the keys of one audience. */
export interface KeyObjects {
  key(id: string): ApiKeyRpc
  owner(owner: ApiKeyOwner): ApiKeyOwnerRpc
}

/** Milliseconds after which an entry without a key is of a creation that failed. */
const abandonedMs = 60_000

const textOf = (maxCharacters: number): Kind => [
  (value) => kind.name[0](value) && String(value).length <= maxCharacters && String(value).isWellFormed(),
  `a text of 1 to ${maxCharacters} characters`,
]

const ownerKinds: KindsOf<ApiKeyOwner> = { subject: kind.required(textOf(256)), tenant: textOf(256) }

/** Claims that the key decides. */
const reserved = ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'scope', 'scp', 'tenant', 'cnf']
const clients = ['client_id', 'azp', 'appid', 'common_name']

const claimsKind: Kind = [
  (value) => isObject(value) && ![...reserved, ...clients].some((name) => Object.hasOwn(value, name)),
  `an object without ${[...reserved, ...clients].join(', ')}`,
]

/** Durable Objects accept no alarms after the year 2189. */
const maxLifeMs = 36_500 * 24 * 60 * 60_000

const newKinds: KindsOf<NewApiKeyOptions> = {
  name: textOf(100),
  scopes: kind.scopes,
  claims: claimsKind,
  expiresIn: kind.durationOrInfinity,
}

const rotateKinds: KindsOf<RotateOptions> = { grace: kind.duration, expiresIn: kind.durationOrInfinity }

export class ManagedKeys implements ApiKeyManager {
  readonly #prefix: string
  readonly #maxPerOwner: number
  readonly #objects: () => KeyObjects

  constructor(prefix: string, maxPerOwner: number, objects: () => KeyObjects) {
    this.#prefix = prefix
    this.#maxPerOwner = maxPerOwner
    this.#objects = objects
  }

  async create(owner: ApiKeyOwner, options: NewApiKeyOptions = {}): Promise<NewApiKey> {
    checkOptions('the owner of create() of apiKeys()', owner, ownerKinds)
    checkOptions('create() of apiKeys()', options, newKinds)
    const { name, scopes = [], claims = {}, expiresIn = '365d' } = options
    const json = jsonText(claims, '"claims" of create() of apiKeys() has') ?? '{}'
    if (json.length > 4_096)
      throw new Error('"claims" of create() of apiKeys() must have at most 4096 characters as JSON')
    const written: unknown = JSON.parse(json)
    // A value with `toJSON` has other members now.
    checkOptions('create() of apiKeys()', { claims: written }, { claims: claimsKind })
    const lifeMs = lifeOf(expiresIn, 'create')
    const checked = written as Params // an object, by its kind
    return this.#create(owner, { name, scopes: [...new Set(scopes)], claims: checked }, lifeMs)
  }

  async list(owner: ApiKeyOwner): Promise<readonly ApiKey[]> {
    checkOptions('the owner of list() of apiKeys()', owner, ownerKinds)
    const objects = this.#objects()
    const index = objects.owner(owner)
    const entries = await index.list()
    const found = await Promise.all(entries.map(({ id }) => objects.key(id).describe(owner.subject, owner.tenant)))
    const abandoned = entries.filter(({ createdAt }, at) => !found[at] && Date.now() - createdAt > abandonedMs)
    if (abandoned.length > 0) await index.remove(abandoned.map(({ id }) => id))
    return found.flatMap((key) => (key ? publicOf(key) : [])).sort((one, other) => one.createdAt - other.createdAt)
  }

  async revoke(owner: ApiKeyOwner, id: string): Promise<boolean> {
    checkOptions('the owner of revoke() of apiKeys()', owner, ownerKinds)
    checkId('revoke', id)
    if (!isId(id)) return false
    const objects = this.#objects()
    const isRevoked = await objects.key(id).revoke(owner.subject, owner.tenant)
    await objects.owner(owner).remove([id])
    return isRevoked
  }

  async rotate(owner: ApiKeyOwner, id: string, options: RotateOptions = {}): Promise<NewApiKey> {
    checkOptions('the owner of rotate() of apiKeys()', owner, ownerKinds)
    checkId('rotate', id)
    checkOptions('rotate() of apiKeys()', options, rotateKinds)
    const { subject, tenant } = owner
    const objects = this.#objects()
    const old = isId(id) ? await objects.key(id).describe(subject, tenant) : undefined
    if (!old || old.replacedBy !== undefined) throw notRotatable(id, old)
    const { name, scopes, claims, createdAt, expiresAt = Number.POSITIVE_INFINITY } = old
    const { grace = '1d', expiresIn = expiresAt - createdAt } = options
    const graceMs = milliseconds(grace, 'grace of rotate()')
    const lifeMs = lifeOf(expiresIn, 'rotate')
    const created = await this.#create(owner, { name, scopes, claims }, lifeMs, true)
    const until = await objects.key(id).replace(subject, tenant, created.id, Date.now() + graceMs)
    if (until === undefined) {
      // It was revoked or rotated meanwhile.
      await this.revoke(owner, created.id)
      throw notRotatable(id, await objects.key(id).describe(subject, tenant))
    }
    const index = objects.owner(owner)
    await (until <= Date.now() ? index.remove([id]) : index.setReplaced(id, until))
    return created
  }

  async #create(
    { subject, tenant }: ApiKeyOwner,
    described: Pick<StoredApiKey, 'name' | 'scopes' | 'claims'>,
    lifeMs: number,
    isRotation = false,
  ): Promise<NewApiKey> {
    const objects = this.#objects()
    const text = newKeyText(this.#prefix)
    const { hash, id } = await hashOf(text)
    const createdAt = Date.now()
    const expiresAt = lifeMs === Number.POSITIVE_INFINITY ? undefined : createdAt + lifeMs
    const key: StoredApiKey = { ...described, id, hash, subject, tenant, createdAt, expiresAt }
    const index = objects.owner({ subject, tenant })
    // Listed first: a key that nobody can list could not be revoked. A rotation replaces a key, or its new key is revoked.
    const refused = await index.add(id, createdAt, expiresAt, isRotation ? Number.POSITIVE_INFINITY : this.#maxPerOwner)
    if (refused === 'too many keys') {
      throw new ToolError(
        `The owner has ${this.#maxPerOwner} API keys, the maximum: revoke one, or set maxPerOwner of apiKeys()`,
      )
    }
    if (refused) {
      throw new ToolError('The owner has too many API keys that are replaced and still valid: revoke them')
    }
    try {
      await objects.key(id).create(key)
    } catch (problem) {
      await this.revoke({ subject, tenant }, id).catch(() => {})
      throw problem
    }
    return { ...publicOf(key), key: text }
  }
}

/** @param operation names the caller in errors */
function lifeOf(expiresIn: Duration, operation: string): number {
  const lifeMs = millisecondsOrInfinity(expiresIn, `expiresIn of ${operation}()`)
  if (lifeMs === Number.POSITIVE_INFINITY || lifeMs <= maxLifeMs) return lifeMs
  throw new Error(`expiresIn of ${operation}() of apiKeys() must be at most 36500 days, or Infinity`)
}

function publicOf({ id, name, scopes, claims, createdAt, expiresAt, lastUsedAt, replacedBy }: StoredApiKey): ApiKey {
  return {
    id,
    ...(name !== undefined && { name }),
    scopes,
    claims,
    createdAt,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(lastUsedAt !== undefined && { lastUsedAt }),
    ...(replacedBy !== undefined && { replacedBy }),
  }
}

function checkId(operation: string, id: unknown): void {
  checkOptions(`${operation}() of apiKeys()`, { id }, { id: kind.required(kind.name) })
}

const notRotatable = (id: string, key: StoredApiKey | undefined): ToolError =>
  new ToolError(
    key?.replacedBy === undefined
      ? `The owner has no API key "${id}"`
      : `The API key "${id}" was rotated before: rotate "${key.replacedBy}"`,
  )
