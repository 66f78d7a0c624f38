/**
 * Enterprise-managed authorization: a client exchanges an assertion of the identity provider of an organization (ID-JAG) for an access token.
 *
 * @see https://github.com/modelcontextprotocol/ext-auth
 * @see https://datatracker.ietf.org/doc/draft-ietf-oauth-identity-assertion-authz-grant/
 */
import type { EmaClaimsMapperInput, EmaClaimsMapperResult, EmaOptions } from '@cloudflare/workers-oauth-provider'
import type { OAuthSite } from '../../../durable-objects/sign-in/rpc.ts'
import { hex } from '../../protocol/hex.ts'
import { sha256 } from '../../sealing/sha256.ts'
import type { TokenClaims } from '../auth/claims.ts'
import { IssuerDocuments } from '../auth/issuer-keys-and-metadata.ts'
import { type DecidingOptions, decide, type GrantProps } from './decide.ts'
import { AccessDenied, type Authority, type User } from './providers/provider.ts'
import type { EnterpriseIssuer, EnterpriseOptions } from './sign-in-options.ts'
import { profileOf, userIdOf, userOf } from './user.ts'

/** What the library passes on of a request. */
type Env = { waitUntil(work: Promise<unknown>): void }

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

export class Enterprise {
  readonly #options: EnterpriseOptions
  readonly #deciding: DecidingOptions
  /** The metadata of each issuer, which names the URL of its keys. The library reads the keys. */
  readonly #metadata: ReadonlyMap<string, IssuerDocuments>

  constructor(options: EnterpriseOptions, deciding: DecidingOptions) {
    this.#options = options
    this.#deciding = deciding
    const metadataOf = ({ issuer, jwksUri: keysUrl }: EnterpriseIssuer) =>
      new IssuerDocuments({ issuer, keysUrl, isMetadataOnly: true, fetch: (url, init) => fetch(url, init) })
    this.#metadata = new Map(options.issuers.map((one) => [one.issuer, metadataOf(one)]))
  }

  /** Returns the options of the library for one authorization server. It catches what they throw: see `outageOf`. */
  at(site: OAuthSite): EmaOptions<Env> {
    return {
      trustedIssuers: ({ iss, env }) => this.#trusted(iss, env),
      mapClaims: (input) =>
        this.#tokenFor(input, site).catch((problem: unknown) => {
          if (problem instanceof AccessDenied) return null
          console.error(problem)
          throw problem
        }),
    }
  }

  /**
   * Returns why an assertion can be neither accepted nor refused now; `undefined` if it was refused.
   *
   * @param failure what the library says of it
   */
  outageOf({ reason, iss }: { readonly reason?: unknown; readonly iss?: unknown }): string | undefined {
    if (reason === 'mapper_threw') return 'This server cannot decide about the user: try again later'
    // An issuer of the options is trusted, unless its metadata cannot be read. The client changes neither them nor the keys.
    const isUnread = reason === 'jwks_fetch_failed' || (reason === 'issuer_not_trusted' && this.#issuer(iss))
    return isUnread ? 'The identity provider of the organization does not answer: try again later' : undefined
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

  #issuer(iss: unknown): EnterpriseIssuer | undefined {
    return this.#options.issuers.find(({ issuer }) => issuer === iss)
  }

  /** @throws Error while the metadata cannot be read, which is reported once */
  async #trusted(iss: string, { waitUntil }: Env) {
    const documents = this.#metadata.get(iss)
    if (!documents) return null
    const { metadata } = await documents.current({ waitUntil, report: console.error })
    const { jwks_uri: jwksUri } = JSON.parse(metadata)
    const algorithms = this.#issuer(iss)?.algorithms
    return { issuer: iss, jwksUri: String(jwksUri), ...(algorithms && { algorithms: [...algorithms] }) }
  }

  /** Returns `null` to refuse the user, or the scopes. @throws AccessDenied; Error while an option fails */
  async #tokenFor(
    { claims, requestedScope }: EmaClaimsMapperInput<Env>,
    site: OAuthSite,
  ): Promise<EmaClaimsMapperResult | null> {
    const issuer = this.#issuer(claims.iss)
    const user = issuer && userIn(claims, issuer)
    if (!user) return null
    // An assertion or a request that names scopes gets no others, also if this server has none of them. A blank claim names none.
    const requested = new Set(claims.scope?.trim() === '' ? [] : requestedScope)
    const isDefault = requestedScope.length === 0 && claims.scope === undefined
    const known = isDefault ? site.scopes : site.scopes.filter((scope) => requested.has(scope))
    if (known.length === 0 && site.scopes.length > 0) return null
    const decision = await decide(this.#deciding, user, known)
    if (decision.choices) {
      // It is decided, as for a refresh: trying again changes nothing.
      console.error(
        new Error(
          `tenant of signIn() returned several tenants for a user of ${issuer.name}, who has no page to choose one`,
        ),
      )
      return null
    }
    const props: GrantProps = { user, tenant: decision.tenant, startedAt: Date.now() }
    return {
      userId: await userIdOf(user),
      scope: [...decision.scopes],
      metadata: { provider: issuer.name, tenant: decision.tenant },
      props,
    }
  }
}

/** Returns the user of an assertion; `undefined` for claims that describe none, which are reported: the client needs another assertion. */
function userIn(claims: TokenClaims, issuer: EnterpriseIssuer): User | undefined {
  const { tenant, tenantClaim, groupsClaim } = issuer
  try {
    const profile = profileOf(claims, { tenantClaim, groupsClaim })
    return userOf({ ...profile, ...(tenant !== undefined && { tenant }) }, authorityOf(issuer))
  } catch (problem) {
    if (!(problem instanceof AccessDenied)) console.error(problem)
    return undefined
  }
}
