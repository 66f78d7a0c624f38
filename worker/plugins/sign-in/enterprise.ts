/**
 * Enterprise-managed authorization: a client exchanges an assertion of the identity provider of an organization (ID-JAG) for an access token.
 *
 * @see https://github.com/modelcontextprotocol/ext-auth
 * @see https://datatracker.ietf.org/doc/draft-ietf-oauth-identity-assertion-authz-grant/
 */
import type { EmaClaimsMapperInput, EmaClaimsMapperResult, EmaOptions } from '@cloudflare/workers-oauth-provider'
import type { OAuthSite } from '../../../durable-objects/rpc.ts'
import { BoundedMap } from '../../protocol/bounded-map.ts'
import { isStrings } from '../../protocol/check-principal.ts'
import { hex } from '../../protocol/hex.ts'
import type { Params } from '../../protocol/types.ts'
import { sha256 } from '../../sealing/sha256.ts'
import { fetchJson } from '../auth/fetch-json.ts'
import type { Env, GrantProps } from './authorization-server.ts'
import type { User } from './providers/provider.ts'
import { userIdOf } from './user-id.ts'

/** Describes the identity provider of an organization, whose assertions are accepted. */
export type EnterpriseIssuer = {
  /** Start of the ids of its users: lower-case letters, digits and hyphens, other than the names of the providers. Never change it. */
  name: string
  /** The claim `iss` of its assertions, exactly: an https URL. */
  issuer: string
  /** URL of its JSON Web Key Set. Default: `jwks_uri` of its OpenID configuration. */
  jwksUri?: string
  /** Accepted values of `alg`. Default: `RS256`. */
  algorithms?: readonly ('RS256' | 'ES256')[]
  /** The tenant of all its users. Default: the claim `tenantClaim`. */
  tenant?: string
  /** Claim that names the tenant of a user. Default: none; users have no tenant. */
  tenantClaim?: string
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

/** What enterprise-managed authorization needs of the options of `signIn()`. */
export type EnterpriseTerms = EnterpriseOptions & {
  /** Whether a user may sign in. */
  isAllowed(user: User, provider: string): Promise<boolean>
  /** Returns the scopes that a user grants. */
  scopesFor(user: User, requested: readonly string[]): Promise<readonly string[]>
}

/** Milliseconds for which the address of the keys of an issuer is known. */
const addressMs = 10 * 60_000

export class Enterprise {
  readonly #terms: EnterpriseTerms
  readonly #addresses = new BoundedMap<string, { readonly url: string; readonly untilMs: number }>({ maxEntries: 100 })

  constructor(terms: EnterpriseTerms) {
    this.#terms = terms
  }

  /** Returns the options of the library for one authorization server. */
  at(site: OAuthSite): EmaOptions<Env> {
    return {
      trustedIssuers: ({ iss }) => this.#reporting(() => this.#issuer(iss)),
      mapClaims: (input) => this.#reporting(() => this.#tokenFor(input, site)),
    }
  }

  /** Returns the stored form of a client of the options; `undefined` for another key. */
  async clientAt(key: string): Promise<object | undefined> {
    const client = this.#terms.clients?.find(({ clientId }) => key === `client:${clientId}`)
    if (!client) return undefined
    const { clientId, clientSecret, name = clientId } = client
    return {
      clientId,
      clientName: name,
      clientSecret: hex(await sha256(clientSecret)),
      redirectUris: [],
      grantTypes: ['urn:ietf:params:oauth:grant-type:jwt-bearer'],
      responseTypes: [],
      tokenEndpointAuthMethod: 'client_secret_basic',
    }
  }

  /** Refuses the assertion for what the work throws. The client does not receive the reason. */
  async #reporting<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work()
    } catch (problem) {
      console.error(problem)
      return null
    }
  }

  async #issuer(iss: string) {
    const known = this.#terms.issuers.find(({ issuer }) => issuer === iss)
    if (!known) return null
    const { issuer, algorithms, jwksUri = await this.#addressOf(issuer) } = known
    return { issuer, jwksUri, ...(algorithms && { algorithms: [...algorithms] }) }
  }

  /** @throws Error for metadata of another issuer */
  async #addressOf(issuer: string): Promise<string> {
    const known = this.#addresses.get(issuer)
    if (known && Date.now() < known.untilMs) return known.url
    const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
    const { issuer: named, jwks_uri: url } = await fetchJson((href, init) => fetch(href, init), address)
    if (named !== issuer || typeof url !== 'string') {
      throw new Error(`${address} must name the issuer "${issuer}" and a jwks_uri: give the issuer a jwksUri`)
    }
    this.#addresses.set(issuer, { url, untilMs: Date.now() + addressMs })
    return url
  }

  /** Returns `null` to refuse the user, or the scopes. */
  async #tokenFor(
    { claims, requestedScope }: EmaClaimsMapperInput<Env>,
    site: OAuthSite,
  ): Promise<EmaClaimsMapperResult | null> {
    const issuer = this.#terms.issuers.find((one) => one.issuer === claims.iss)
    if (!issuer) return null
    const { name } = issuer
    const user = userIn(claims, issuer)
    if (!(await this.#terms.isAllowed(user, name))) return null
    // An assertion or a request that names scopes gets no others, also if this server has none of them.
    const isDefault = requestedScope.length === 0 && claims.scope === undefined
    const known = isDefault ? site.scopes : requestedScope.filter((scope) => site.scopes.includes(scope))
    if (known.length === 0 && site.scopes.length > 0) return null
    const granted = await this.#terms.scopesFor(user, known)
    const props: GrantProps = { user, provider: name }
    return {
      userId: await userIdOf(user, { name, title: issuer.issuer }),
      scope: granted.filter((scope) => known.includes(scope)),
      metadata: { provider: name },
      props,
    }
  }
}

/** @throws Error for a claim of another type, which must not count as absent */
function userIn(claims: Params & { readonly sub: string }, issuer: EnterpriseIssuer): User {
  const { tenantClaim, groupsClaim = 'groups', tenant = textIn(claims, tenantClaim) } = issuer
  const groups = claims[groupsClaim]
  if (groups !== undefined && !isStrings(groups)) {
    throw new Error(`The claim "${groupsClaim}" of the assertion must be a list of strings`)
  }
  return {
    id: claims.sub,
    name: textIn(claims, 'name'),
    login: textIn(claims, 'preferred_username'),
    email: textIn(claims, 'email'),
    emailVerified: claims.email_verified === undefined ? undefined : claims.email_verified === true,
    tenant,
    groups,
  }
}

function textIn(claims: Params, name: string | undefined): string | undefined {
  const value = name === undefined ? undefined : claims[name]
  if (value === undefined || (typeof value === 'string' && value !== '')) return value
  throw new Error(`The claim "${name}" of the assertion must be a non-empty string`)
}
