/** The options of `bearer()`, which its presets share. */
import type { KindsOf } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { StoredPrincipals } from '../../declarations/stored-principal.ts'
import type { ClaimOptions, TokenClaims } from './claims.ts'
import { type DpopOptions, dpopKind } from './dpop.ts'
import type { Fetch } from './fetch-json.ts'
import type { IntrospectionOptions } from './introspection.ts'
import type { IssuerOptions } from './verify-jwt.ts'

/** Configures which tokens a server accepts. */
export type BearerOptions = ClaimOptions &
  StoredPrincipals &
  Omit<IssuerOptions, 'issuer'> & {
    /**
     * Authorization servers whose tokens are accepted: URLs, or objects with options of their own. The other options are defaults for them.
     * Default: none; required unless `verify` is set.
     */
    issuer?: string | IssuerOptions | readonly (string | IssuerOptions)[]
    /**
     * Returns the claims of a token, or `undefined` to reject it, instead of the verification by issuers. Runs for every request; its
     * result is not cached. Check the audience yourself. Default: issuers verify tokens.
     */
    verify?(token: string, request: Request): TokenClaims | undefined | Promise<TokenClaims | undefined>
    /**
     * Canonical URL of the server, absolute, which tokens name as their audience. Default: the URL of the endpoint, on the host of the
     * request.
     *
     * @see https://www.rfc-editor.org/rfc/rfc8707#section-2
     */
    resource?: string
    /** Scopes that clients request first. Default: `requiredScopes` and all declared scopes. */
    scopes?: readonly string[]
    /** Rejects tools, resources and prompts without `scopes` when the server starts. Default: false. */
    requireScopesEverywhere?: boolean
    /** Scopes that every token needs. Default: none. */
    requiredScopes?: readonly string[]
    /** Accepts requests without a token. Their callers have no principal, and use entries without scopes. Default: false. */
    allowAnonymous?: boolean
    /** Seconds by which clocks may differ. Default: 30 seconds. */
    clockTolerance?: number
    /**
     * Milliseconds for which a verified token is not verified again, at most until it expires; 0 disables the cache. A revoked opaque token
     * stays valid for this time. Not together with `verify`. Default: 1 minute.
     */
    tokenCacheMs?: number
    /**
     * Verifies that the client has the key of a token that is bound to one. `true` accepts bound tokens and plain bearer tokens,
     * `'required'` only bound ones, `false` only plain ones; an object sets more. Default: as `true`, but challenges and metadata do not
     * offer DPoP.
     *
     * @see https://www.rfc-editor.org/rfc/rfc9449
     */
    dpop?: boolean | 'required' | DpopOptions
    /** Sends requests to the authorization server, for example through a service binding. Default: the global `fetch`. */
    fetch?: Fetch
    /**
     * Name of the server for users who authorize a client. Default: none.
     *
     * @see https://www.rfc-editor.org/rfc/rfc9728#section-2
     */
    resourceName?: string
    /**
     * URL of the documentation for developers who use the server. Default: none.
     *
     * @see https://www.rfc-editor.org/rfc/rfc9728#section-2
     */
    resourceDocumentation?: string
  }

const issuerKinds: KindsOf<Omit<IssuerOptions, 'issuer'>> = {
  keys: [(value) => Object(value) === value || kind.string[0](value), 'a URL or a JSON Web Key Set'],
  audience: [
    (value) => value === false || kind.string[0](value) || kind.strings[0](value),
    'a string, a list of strings, or false',
  ],
  algorithms: kind.strings,
  introspection: kind.object({
    url: kind.string,
    clientId: kind.required(kind.string),
    clientSecret: kind.required(kind.string),
    tokenPrefix: kind.string,
  } satisfies KindsOf<IntrospectionOptions>),
}

export const storedKinds: KindsOf<StoredPrincipals> = { storedClaims: kind.strings, reauthorize: kind.fn }

export const bearerKinds: KindsOf<BearerOptions> = {
  issuer: [
    (value) => [value].flat().every((part) => Object(part) === part || kind.string[0](part)),
    'a URL, an object with issuer, or a list of them',
    { issuer: kind.required(kind.string), ...issuerKinds },
  ],
  ...issuerKinds,
  verify: kind.fn,
  resource: kind.string,
  scopes: kind.scopes,
  requireScopesEverywhere: kind.flag,
  requiredScopes: kind.scopes,
  allowAnonymous: kind.flag,
  clockTolerance: kind.amount,
  tokenCacheMs: kind.amount,
  dpop: dpopKind,
  fetch: kind.fn,
  resourceName: kind.string,
  resourceDocumentation: kind.string,
  subjectClaim: kind.name,
  tenantClaim: kind.string,
  requireTenant: kind.flag,
  getScopes: kind.fn,
  impliedScopes: [
    (value) => kind.object()[0](value) && Object.values(Object(value)).every(kind.strings[0]),
    'an object of lists of strings',
  ],
  ...storedKinds,
}
