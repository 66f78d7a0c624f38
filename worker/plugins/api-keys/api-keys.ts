/** `apiKeys()`: an auth that accepts API keys, and manages them. */
import { ApiKeys } from '../../../durable-objects/api-keys/object.ts'
import type { ApiKeyOwnerRpc, ApiKeyRpc, StoredApiKey } from '../../../durable-objects/api-keys/rpc.ts'
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { StoredPrincipals } from '../../declarations/stored-principal.ts'
import type { Auth, Plugin, Runtime } from '../../plugin.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Principal } from '../../protocol/principal.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import { BadToken } from '../auth/bad-token.ts'
import { type BearerOptions, bearerKinds, storedKinds } from '../auth/bearer-options.ts'
import type { TokenClaims } from '../auth/claims.ts'
import { bearerToken, type Found } from '../auth/request-token.ts'
import { resourceServer } from '../auth/resource-server.ts'
import { hashOf, isId, isKeyText } from './key-text.ts'
import { type ApiKeyManager, type KeyObjects, ManagedKeys } from './managed-keys.ts'
import { UnknownKeys } from './unknown-keys.ts'

/** Configures `apiKeys()`. */
export type ApiKeysOptions = StoredPrincipals &
  Pick<
    BearerOptions,
    'requireScopesEverywhere' | 'requiredScopes' | 'impliedScopes' | 'allowAnonymous' | 'requireTenant' | 'tokenCacheMs'
  > & {
    /** Start of the keys, before `_`: 1 to 32 letters, digits and `_`. Another one rejects all keys that exist. Default: `mcp`. */
    prefix?: string
    /** Name of a header that carries a key, such as `X-API-Key`, besides `Authorization: Bearer`. Default: none. */
    header?: string
    /**
     * Name of the endpoints that accept the keys: all `apiKeys()` of the Worker with the same audience have the same keys. Default: the
     * `identity` of the endpoint.
     */
    audience?: string
    /** Keys that one owner may have, without those that are replaced and still valid. Default: 25. */
    maxPerOwner?: number
  }

/** Types the Durable Object class that a Worker exports as `McpApiKeys`. */
export interface ApiKeysClass {
  new (ctx: DurableObjectState, env: Cloudflare.Env): ApiKeys
}

/** Authenticates callers of `serve()` by API keys, manages the keys, and has the class that the Worker exports. */
export type ApiKeysAuth = Auth &
  ApiKeyManager & { readonly plugins: readonly [Plugin<{ readonly McpApiKeys: ApiKeysClass }>] }

const kinds: KindsOf<ApiKeysOptions> = {
  prefix: [
    (value) => typeof value === 'string' && /^(?=.{1,32}$)[A-Za-z][0-9A-Za-z]*(_[0-9A-Za-z]+)*$/.test(value),
    "1 to 32 letters, digits and single '_', such as 'notes_live'",
  ],
  header: [
    (value) => typeof value === 'string' && /^[\w-]+$/.test(value) && !/^(authorization|cookie)$/i.test(value),
    "the name of a header, such as 'X-API-Key'",
  ],
  audience: kind.name,
  maxPerOwner: kind.count,
  requireScopesEverywhere: bearerKinds.requireScopesEverywhere,
  requiredScopes: bearerKinds.requiredScopes,
  impliedScopes: bearerKinds.impliedScopes,
  allowAnonymous: bearerKinds.allowAnonymous,
  requireTenant: bearerKinds.requireTenant,
  tokenCacheMs: bearerKinds.tokenCacheMs,
  ...storedKinds,
}

/**
 * Creates an auth that accepts API keys. Its methods create, list, revoke and rotate them. Export the class `McpApiKeys` of the Worker.
 *
 * @throws Error for an invalid option. The message names the fix
 *
 * @example
 * const keys = apiKeys({ prefix: 'notes' })
 * const worker = serve(server, { auth: keys })
 * export default worker
 * export const { McpSession, McpApiKeys } = worker
 */
export function apiKeys(options: ApiKeysOptions = {}): ApiKeysAuth {
  checkOptions('apiKeys()', options, kinds)
  return new ApiKeyServer(options).auth()
}

/** One class for all endpoints: it needs none. */
class McpApiKeys extends ApiKeys {}

class ApiKeyServer {
  readonly #options: ApiKeysOptions
  readonly #prefix: string
  readonly #unknown = new UnknownKeys()
  #runtime: Runtime | undefined

  constructor(options: ApiKeysOptions) {
    this.#options = options
    this.#prefix = options.prefix ?? 'mcp'
  }

  auth(): ApiKeysAuth {
    const { prefix: _prefix, header, audience: _audience, maxPerOwner = 25, ...options } = this.#options
    const issuers = () => [this.#issuer]
    const resource = resourceServer(
      {
        ...options,
        storedClaims: [...keyClaims, ...(options.storedClaims ?? [])],
        tenantClaim: 'tenant',
        dpop: false,
      },
      {
        token: (request) => this.#find(request),
        required: 'Authorization is required: send an API key',
        ...(header !== undefined && { credentialHeaders: [header] }),
        credentials: [{ prefix: `${this.#prefix}_` }, ...(header === undefined ? [] : [{ header }])],
        isDescribed: false,
        verifier: {
          issuer: () => this.#issuer,
          get issuers() {
            return issuers()
          },
          audience: false,
          claims: (text, request, serverInfo) => this.#claims(text, request, serverInfo),
          current: (principal) => this.#current(principal),
        },
      },
    )
    const managed = new ManagedKeys(this.#prefix, maxPerOwner, () => this.#objects(this.#served()))
    return {
      ...resource,
      get issuers() {
        return issuers()
      },
      plugins: [
        {
          name: 'apiKeys',
          provide: (runtime) => this.#serve(runtime),
          objects: { McpApiKeys: () => McpApiKeys },
        },
      ],
      create: (...created) => managed.create(...created),
      list: (owner) => managed.list(owner),
      revoke: (owner, id) => managed.revoke(owner, id),
      rotate: (...rotated) => managed.rotate(...rotated),
    }
  }

  /** The endpoints that accept the keys; `undefined` until `serve()` has the auth. */
  get #audience(): string | undefined {
    return this.#options.audience ?? this.#runtime?.identity
  }

  /** The issuer of the principals of the keys. Keys of another audience have another issuer, so their owners are other principals. */
  get #issuer(): string {
    return `api-keys:${this.#audience ?? ''}`
  }

  /** @throws Error if another endpoint has it: the methods would not know whose keys they manage */
  #serve(runtime: Runtime): object {
    const { audience } = this.#options
    if (this.#runtime && audience === undefined && this.#runtime.identity !== runtime.identity) {
      throw new Error(
        "Two endpoints have the same apiKeys(): call it for each of them, or name the audience of the keys, as in apiKeys({ audience: 'notes' })",
      )
    }
    this.#runtime = runtime
    return {}
  }

  #served(): Runtime {
    if (this.#runtime) return this.#runtime
    throw new Error(
      'apiKeys() is not served: pass it as auth to serve(), alone or with oneOf(), before you manage keys',
    )
  }

  #objects({ object }: Pick<Runtime, 'object'>): KeyObjects {
    const audience = this.#audience ?? this.#served().identity
    const named = <Rpc>(...name: readonly (string | null)[]) => object<Rpc>('McpApiKeys', JSON.stringify(name))
    return {
      key: (id) => named<ApiKeyRpc>('key', audience, id),
      owner: ({ subject, tenant }) => named<ApiKeyOwnerRpc>('owner', audience, tenant ?? null, subject),
    }
  }

  #find(request: Request): Found {
    const { header } = this.#options
    const bearer = bearerToken(request)
    if (bearer?.scheme === 'DPoP')
      return {
        malformed: 'API keys are bearer tokens: send Authorization: Bearer',
      }
    const value = header === undefined ? null : request.headers.get(header)
    if (value === null) return bearer
    if (request.headers.has('Authorization')) {
      return { malformed: `The request has credentials in Authorization and ${header}: send one of them` }
    }
    return bearer ?? { token: value }
  }

  /** Returns the claims of a key. @throws BadToken; McpError `too_many_requests`, `unavailable` */
  async #claims(text: string, request: Request, serverInfo: ServerInfo): Promise<TokenClaims> {
    if (!isKeyText(text, this.#prefix)) {
      throw new BadToken('The API key is malformed: copy it again, from its first to its last character')
    }
    const { hash, id } = await hashOf(text)
    const unknown = new BadToken('The API key is unknown, expired or revoked')
    if (this.#unknown.has(hash)) throw unknown
    this.#unknown.check(hash, request)
    const object = this.#objects(serverInfo).key(id)
    const found = await object.verify(hash).catch((problem: unknown) => {
      serverInfo.report(problem)
      throw new McpError('unavailable', 'API keys cannot be verified now: try again later', undefined, {
        'Retry-After': '5',
      })
    })
    if (!found) {
      this.#unknown.add(hash, request)
      throw unknown
    }
    this.#unknown.addValid(hash)
    if (found.isUseDue) serverInfo.waitUntil(object.recordUse().catch((problem: unknown) => serverInfo.report(problem)))
    return claimsOf(found.key, this.#issuer)
  }

  /** Returns the claims of the key of a stored principal; `undefined` once it was revoked, or has expired. */
  async #current({ subject, claims: { jti, tenant } }: Principal): Promise<TokenClaims | undefined> {
    if (!isId(jti)) return undefined
    // `forTenant()` may name another tenant than the key does.
    const of = typeof tenant === 'string' ? tenant : undefined
    const key = await this.#objects(this.#served()).key(jti).describe(subject, of)
    return key && claimsOf(key, this.#issuer)
  }
}

/** Claims with which the key of a stored principal is found. They are no secrets. */
const keyClaims = ['jti', 'tenant']

const claimsOf = (
  { id, subject, tenant, scopes, claims, createdAt, expiresAt }: StoredApiKey,
  issuer: string,
): TokenClaims => ({
  ...claims,
  iss: issuer,
  sub: subject,
  jti: id,
  scope: scopes,
  iat: createdAt / 1000,
  ...(tenant !== undefined && { tenant }),
  ...(expiresAt !== undefined && { exp: expiresAt / 1000 }),
})
