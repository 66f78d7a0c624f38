/** The options of `signIn()`, and what their values must be. */
import type { KindsOf } from '../../declarations/check-options.ts'
import { type Duration, milliseconds } from '../../declarations/duration.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { StoredPrincipals } from '../../declarations/stored-principal.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import { type BearerOptions, bearerKinds } from '../auth/bearer-options.ts'
import type { IdentityProvider, User } from './providers/provider.ts'

/** Configures `signIn()`. */
export type SignInOptions = StoredPrincipals &
  Pick<
    BearerOptions,
    | 'requireScopesEverywhere'
    | 'requiredScopes'
    | 'impliedScopes'
    | 'allowAnonymous'
    | 'tokenCacheMs'
    | 'resourceName'
    | 'resourceDocumentation'
  > & {
    /** The identity provider, such as `github()`, or several, among which the user chooses. */
    with: IdentityProvider | readonly IdentityProvider[]
    /**
     * A list: the scopes that clients request first. An object: descriptions of scopes for the consent page, such as
     * `{ 'notes:write': 'Change your notes' }`. Default: clients request `requiredScopes` and all declared scopes.
     */
    scopes?: readonly string[] | Readonly<Record<string, string>>
    /** Providers that users do not sign in with, for `ctx.upstream()`. Default: none. */
    upstreams?: readonly IdentityProvider[]
    /**
     * Where clients find the Worker, such as `https://mcp.example.com`: the issuer, the callbacks and the audience of tokens are on it, also
     * for requests that reach the Worker at another host. Default: the origin of each request.
     */
    origin?: string
    /**
     * Decides whether a user may sign in. A text is the reason, a sentence that the user reads. Default: every user of the provider may.
     */
    allow?(user: User): boolean | string | Promise<boolean | string>
    /**
     * Returns the tenants for which a user may act, such as the organizations in `groups`. The user chooses one of several, which becomes
     * `ctx.principal.tenant`. Default: the tenant that the provider states.
     */
    tenant?(user: User): string | readonly string[] | undefined | Promise<string | readonly string[] | undefined>
    /**
     * Returns the scopes that a user grants, among those that the user approved, for a tenant. Default: all that the user approved.
     */
    grantScopes?(
      user: User,
      approved: readonly string[],
      tenant: string | undefined,
    ): readonly string[] | Promise<readonly string[]>
    /** Refuses users without a tenant. Default: false. */
    requireTenant?: boolean
    /**
     * Accepts assertions of identity providers of organizations (ID-JAG), whose users have no consent page: enterprise-managed
     * authorization. `allow` and `grantScopes` decide on these users, too. Default: no assertion is accepted.
     */
    enterprise?: EnterpriseOptions
    /** How long an access token is valid, at most `refreshTokenTtl`: milliseconds, or a text such as `1h`. Default: 1 hour. */
    accessTokenTtl?: Duration
    /** How long a user stays signed in: milliseconds, or a text such as `30d`. Default: 30 days. */
    refreshTokenTtl?: Duration
    /**
     * How long an approval is remembered in the browser: with one provider, the consent page is not shown again for the same client, redirect
     * address and scopes. 0 shows it every time. Default: 30 days.
     */
    rememberConsent?: Duration
    /**
     * Redirect URIs with the scheme of an app (RFC 8252, section 7.1) to which users may be sent, besides those with https and those of the
     * same computer. Default: that of Cursor, `cursor://anysphere.cursor-mcp/oauth/callback`.
     */
    privateUseRedirectUris?: readonly string[]
  }

/** Describes the identity provider of an organization, whose assertions are accepted. */
export type EnterpriseIssuer = {
  /** Start of the ids of its users: lower-case letters, digits and hyphens, other than the names of the providers. Never change it. */
  name: string
  /** The claim `iss` of its assertions, exactly: an https URL. */
  issuer: string
  /** URL of its JSON Web Key Set. Default: `jwks_uri` of its metadata. */
  jwksUri?: string
  /** Accepted values of `alg`. Default: `RS256`. */
  algorithms?: readonly ('RS256' | 'ES256')[]
  /** The tenant of all its users. Default: the claim `tenantClaim`. */
  tenant?: string
  /** Claim that names the tenant of a user. Default: none; users have no tenant. */
  tenantClaim?: string
  /**
   * Tenants that its claim may name; users of others are refused. `requireTenant` refuses users without one. Default: all, if no other issuer
   * or provider may name tenants.
   */
  tenants?: readonly string[]
  /** Domains of the email addresses of its users; other addresses are left out. Default: none; users have no address. */
  emailDomains?: readonly string[]
  /** Claim with the groups of a user, a list of strings. Default: `groups`. */
  groupsClaim?: string
}

/** Describes a client that the organization has registered. */
export type EnterpriseClient = {
  /** Its id, which assertions name. */
  clientId: string
  /** Its secret, which it sends with HTTP Basic authentication. */
  clientSecret: string
  /** Name of the client for people. Default: its id. */
  name?: string
}

/** Configures enterprise-managed authorization. */
export type EnterpriseOptions = {
  /** Identity providers whose assertions are accepted. */
  issuers: readonly EnterpriseIssuer[]
  /** Clients that may exchange assertions, besides those that have registered themselves with a secret. Default: none. */
  clients?: readonly EnterpriseClient[]
}

const isProvider = ({ authorizationUrl, issuer, clientId }: Partial<IdentityProvider>): boolean =>
  authorizationUrl !== undefined && typeof issuer === 'string' && typeof clientId === 'string'

const provider: typeof kind.auth = [
  (value) => [value].flat().length > 0 && [value].flat().every((one) => isProvider(Object(one))),
  'a provider such as github({ clientId, clientSecret }), or a list of them',
]

const ttl: typeof kind.duration = [
  // The library issues no shorter tokens.
  (value) => kind.duration[0](value) && milliseconds(value as Duration, 'ttl') >= 60_000,
  `${kind.duration[1]}, and at least 1m`,
]

const httpsUrl: typeof kind.string = [
  (value) => typeof value === 'string' && URL.parse(value)?.protocol === 'https:',
  'an https URL',
]

const issuerKinds: KindsOf<EnterpriseIssuer> = {
  name: kind.required([
    (value) => typeof value === 'string' && /^[a-z0-9][a-z0-9-]*$/.test(value),
    'lower-case letters, digits and hyphens',
  ]),
  issuer: kind.required(httpsUrl),
  jwksUri: httpsUrl,
  algorithms: [
    (value) => kind.isListOf(value, (one) => one === 'RS256' || one === 'ES256') && [value].flat().length > 0,
    "a list with 'RS256', 'ES256' or both",
  ],
  tenant: kind.name,
  tenantClaim: kind.name,
  tenants: kind.strings,
  emailDomains: kind.strings,
  groupsClaim: kind.name,
}

const clientKinds: KindsOf<EnterpriseClient> = {
  clientId: kind.required(kind.name),
  clientSecret: kind.required(kind.name),
  name: kind.name,
}

/** Schemes that are no app's: browsers run or open them, or they have a way of their own. */
const reservedSchemes = /^(?:https?|javascript|data|vbscript|file|mailto|blob|about|view-source):/i

const privateUseUris: typeof kind.strings = [
  (value) =>
    kind.strings[0](value) &&
    [value].flat().every((uri) => URL.canParse(String(uri)) && !reservedSchemes.test(String(uri).trim())),
  "a list of URIs with the scheme of an app, such as 'cursor://anysphere.cursor-mcp/oauth/callback'",
]

/** The redirect URI of Cursor. */
export const cursor = 'cursor://anysphere.cursor-mcp/oauth/callback'

export const signInKinds: KindsOf<SignInOptions> = {
  with: kind.required(provider),
  upstreams: provider,
  origin: [
    (value) => typeof value === 'string' && URL.parse(value)?.origin === value,
    "an origin such as 'https://mcp.example.com'",
  ],
  allow: kind.fn,
  tenant: kind.fn,
  grantScopes: kind.fn,
  requireTenant: kind.flag,
  enterprise: kind.object({
    issuers: kind.required([
      (value) => kind.isListOf(value, (one) => kind.object()[0](one)),
      'a list of issuers',
      issuerKinds,
    ]),
    clients: [(value) => kind.isListOf(value, (one) => kind.object()[0](one)), 'a list of clients', clientKinds],
  } satisfies KindsOf<EnterpriseOptions>),
  accessTokenTtl: ttl,
  refreshTokenTtl: ttl,
  rememberConsent: kind.duration,
  privateUseRedirectUris: privateUseUris,
  scopes: [
    (value) =>
      Array.isArray(value)
        ? kind.scopes[0](value)
        : isObject(value) && kind.scopes[0](Object.keys(value)) && kind.strings[0](Object.values(value)),
    "a list such as ['notes:read'], or descriptions such as { 'notes:read': 'Read your notes' }",
  ],
  requireScopesEverywhere: bearerKinds.requireScopesEverywhere,
  requiredScopes: bearerKinds.requiredScopes,
  impliedScopes: bearerKinds.impliedScopes,
  allowAnonymous: bearerKinds.allowAnonymous,
  tokenCacheMs: bearerKinds.tokenCacheMs,
  resourceName: bearerKinds.resourceName,
  resourceDocumentation: bearerKinds.resourceDocumentation,
  storedClaims: bearerKinds.storedClaims,
  reauthorize: bearerKinds.reauthorize,
}
