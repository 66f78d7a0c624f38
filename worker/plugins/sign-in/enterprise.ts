/**
 * Enterprise-managed authorization: a client exchanges an assertion of the identity provider of an organization (ID-JAG) for an access token.
 *
 * @see https://github.com/modelcontextprotocol/ext-auth
 * @see https://datatracker.ietf.org/doc/draft-ietf-oauth-identity-assertion-authz-grant/
 */
import type { EmaClaimsMapperInput, EmaClaimsMapperResult, EmaOptions } from '@cloudflare/workers-oauth-provider'
import type { OAuthSite } from '../../../durable-objects/rpc.ts'
import { BoundedMap } from '../../protocol/bounded-map.ts'
import { hex } from '../../protocol/hex.ts'
import { sha256 } from '../../sealing/sha256.ts'
import { fetchJson } from '../auth/fetch-json.ts'
import type { Env, GrantProps } from './authorization-server.ts'
import { type DecidingOptions, decide } from './decide.ts'
import { AccessDenied, type Authority } from './providers/provider.ts'
import { profileOf, userIdOf, userOf } from './user.ts'

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

/** Returns what an issuer may state. */
export const authorityOf = ({
  name,
  issuer,
  tenant,
  tenantClaim,
  tenants,
  emailDomains = [],
}: EnterpriseIssuer): Authority => ({
  name,
  title: issuer,
  tenants: tenant !== undefined ? [tenant] : tenantClaim === undefined ? undefined : (tenants ?? 'any'),
  emailDomains,
})

/** The grant type of an assertion. @see https://www.rfc-editor.org/rfc/rfc7523#section-2.1 */
export const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Milliseconds for which the address of the keys of an issuer is known. */
const addressMs = 10 * 60_000

export class Enterprise {
  readonly #options: EnterpriseOptions
  readonly #deciding: DecidingOptions
  readonly #addresses = new BoundedMap<string, { readonly url: string; readonly untilMs: number }>({ maxEntries: 100 })

  constructor(options: EnterpriseOptions, deciding: DecidingOptions) {
    this.#options = options
    this.#deciding = deciding
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
    const client = this.#options.clients?.find(({ clientId }) => key === `client:${clientId}`)
    if (!client) return undefined
    const { clientId, clientSecret, name = clientId } = client
    return {
      clientId,
      clientName: name,
      clientSecret: hex(await sha256(clientSecret)),
      redirectUris: [],
      grantTypes: [jwtBearer],
      responseTypes: [],
      tokenEndpointAuthMethod: 'client_secret_basic',
    }
  }

  /** Refuses the assertion for what the work throws. The client does not receive the reason. */
  async #reporting<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work()
    } catch (problem) {
      if (!(problem instanceof AccessDenied)) console.error(problem)
      return null
    }
  }

  async #issuer(iss: string) {
    const known = this.#options.issuers.find(({ issuer }) => issuer === iss)
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
    const issuer = this.#options.issuers.find((one) => one.issuer === claims.iss)
    if (!issuer) return null
    const { tenant, tenantClaim, groupsClaim } = issuer
    const profile = profileOf(claims, { tenantClaim, groupsClaim })
    const user = userOf({ ...profile, ...(tenant !== undefined && { tenant }) }, authorityOf(issuer))
    // An assertion or a request that names scopes gets no others, also if this server has none of them.
    const requested = new Set(requestedScope)
    const isDefault = requestedScope.length === 0 && claims.scope === undefined
    const known = isDefault ? site.scopes : site.scopes.filter((scope) => requested.has(scope))
    if (known.length === 0 && site.scopes.length > 0) return null
    const decision = await decide(this.#deciding, user, known)
    if (decision.choices) {
      throw new Error(
        `tenant of signIn() returned several tenants for a user of ${issuer.name}, who has no page to choose one`,
      )
    }
    const props: GrantProps = { user, tenant: decision.tenant, startedAt: Date.now() }
    return {
      userId: await userIdOf(user),
      scope: [...decision.scopes],
      metadata: { provider: issuer.name },
      props,
    }
  }
}
