/**
 * `bearer()`: accepts the bearer tokens of authorization servers.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6750
 */
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { StoredPrincipals } from '../../declarations/stored-principal.ts'
import type { Auth } from '../../request-hooks.ts'
import type { ClaimOptions, Claims } from './claims.ts'
import type { Fetch } from './fetch-json.ts'
import type { IntrospectionOptions } from './introspection.ts'
import type { IssuerOptions } from './jwt-issuer.ts'
import { bearerToken } from './request-token.ts'
import { resourceServer } from './resource-server.ts'

export type BearerOptions = ClaimOptions &
  StoredPrincipals &
  Omit<IssuerOptions, 'issuer'> & {
    /** The authorization servers whose tokens are good here. Options beside it are for those that have none of their own. */
    issuer?: string | IssuerOptions | readonly (string | IssuerOptions)[]
    /**
     * What a token is worth, instead of asking issuers: its claims, or `undefined` for nothing. Called for every request, because
     * the answer may depend on anything of it.
     */
    verify?(token: string, request: Request): Claims | undefined | Promise<Claims | undefined>
    /** This server's name in tokens, an absolute URL. Default: the URL of the endpoint, on the host that was asked. */
    resource?: string
    /** Scopes that a client should ask for first. Default: all that something of the server takes. */
    scopes?: readonly string[]
    /** Everything must say what it takes: the server does not start with a tool, resource or prompt without `scopes`. */
    requireScopesEverywhere?: boolean
    /** Scopes that every request takes. */
    requiredScopes?: readonly string[]
    /** Requests without a token are let in, as nobody: they may use what has no scopes. */
    allowAnonymous?: boolean
    /** Seconds that clocks may differ. Default 30. */
    clockTolerance?: number
    /**
     * Milliseconds for which a token that was good for an audience is not checked again. Default one minute; 0: never kept. Not
     * together with `verify`.
     */
    tokenCacheMs?: number
    /** Reaches the authorization server where a plain `fetch` does not, through a service binding for example. */
    fetch?: Fetch
    /** Told to people who are about to let a client in. */
    resourceName?: string
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
  scopes: kind.strings,
  requireScopesEverywhere: kind.flag,
  requiredScopes: kind.strings,
  allowAnonymous: kind.flag,
  clockTolerance: kind.amount,
  tokenCacheMs: kind.amount,
  fetch: kind.fn,
  resourceName: kind.string,
  resourceDocumentation: kind.string,
  tenantClaim: kind.string,
  getScopes: kind.fn,
  impliedScopes: [
    (value) => kind.object()[0](value) && Object.values(Object(value)).every(kind.strings[0]),
    'an object of lists of strings',
  ],
  ...storedKinds,
}

/**
 * @example
 * serve(server, { auth: bearer({ issuer: 'https://auth.example.com' }) })
 * @throws Error with one sentence that names the fix
 */
export function bearer(options: BearerOptions): Auth {
  checkOptions('bearer()', options, bearerKinds)
  return resourceServer(options, { token: bearerToken, isDescribed: true })
}
