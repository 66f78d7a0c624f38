/** Providers with OpenID Connect: what is different in each. */
import { checkOptions, type KindsOf } from '../../../declarations/check-options.ts'
import * as kind from '../../../declarations/option-kinds.ts'
import { type ClientOptions, clientKinds } from './client-options.ts'
import { type OidcOptions, OidcProvider, oidcKinds } from './oidc.ts'
import type { IdentityProvider, UserClaims } from './provider.ts'

/** Configures `google()`. */
export type GoogleOptions = ClientOptions &
  Pick<OidcOptions, 'groupsClaim'> & {
    /** Google Workspace domains, one of which the account must belong to. Default: every Google account may sign in. */
    domains?: readonly string[]
  }

/** Configures `entra()`. */
export type EntraOptions = ClientOptions &
  Pick<OidcOptions, 'groupsClaim'> & {
    /** Id of the directory (tenant), as a GUID. */
    tenant: string
  }

/** Configures `okta()`. */
export type OktaOptions = ClientOptions &
  Pick<OidcOptions, 'groupsClaim'> & {
    /** Domain, such as `example.okta.com`. */
    domain: string
    /** Id of a custom authorization server, such as `default`. Default: that of the organization. */
    authorizationServer?: string
  }

/** Configures `auth0()`, `clerk()` and `workos()`. */
export type DomainOptions = ClientOptions &
  Pick<OidcOptions, 'groupsClaim' | 'tenants'> & {
    /** Domain of your account at the provider, such as `example.eu.auth0.com`. */
    domain: string
  }

/** Configures `cloudflareAccess()`. */
export type AccessOptions = ClientOptions &
  Pick<OidcOptions, 'groupsClaim'> & {
    /** Name of the team: `<team>.cloudflareaccess.com`. */
    team: string
  }

const openIdKinds = { ...clientKinds, groupsClaim: oidcKinds.groupsClaim }

const domainKind = {
  domain: kind.required([
    (value) => typeof value === 'string' && URL.canParse(`https://${value}`) && !value.includes('/'),
    "a domain without https://, such as 'example.okta.com'",
  ]),
}

const domainKinds: KindsOf<DomainOptions> = { ...openIdKinds, tenants: oidcKinds.tenants, ...domainKind }

/** Google answers with other names for these scopes. @see https://developers.google.com/identity/protocols/oauth2/scopes */
const googleScopes = {
  'https://www.googleapis.com/auth/userinfo.email': ['email'],
  'https://www.googleapis.com/auth/userinfo.profile': ['profile'],
}

/**
 * Creates the provider Google. Create an OAuth client of the type "Web application", with the callback
 * `https://<your host>/oauth/callback/google`.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://developers.google.com/identity/openid-connect/openid-connect
 *
 * @example
 * const login = google({ clientId: env.GOOGLE_ID, clientSecret: env.GOOGLE_SECRET, domains: ['example.com'] })
 */
export function google(options: GoogleOptions): IdentityProvider {
  checkOptions('google()', options, { ...openIdKinds, domains: kind.strings } satisfies KindsOf<GoogleOptions>)
  const { domains, authorizationParams, ...client } = options
  const [domain] = domains?.length === 1 ? domains : []
  return new OidcProvider(
    {
      ...client,
      issuer: 'https://accounts.google.com',
      tenantClaim: 'hd',
      ...(domains && { tenants: domains }),
      // Without them, Google issues no refresh token after the first sign-in.
      authorizationParams: {
        access_type: 'offline',
        prompt: 'consent',
        ...(domain && { hd: domain }),
        ...authorizationParams,
      },
      reject: ({ hd }: UserClaims) =>
        !domains || (typeof hd === 'string' && domains.includes(hd))
          ? undefined
          : `Sign in with an account of ${domains.join(' or ')}.`,
    },
    { name: 'google', title: 'Google', impliedScopes: googleScopes },
  )
}

/**
 * Creates the provider Microsoft Entra ID, for one directory. Register an application with the platform "Web", and the callback
 * `https://<your host>/oauth/callback/entra`.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc
 *
 * @example
 * const login = entra({ clientId: env.ENTRA_ID, clientSecret: env.ENTRA_SECRET, tenant: env.ENTRA_TENANT })
 */
export function entra(options: EntraOptions): IdentityProvider {
  checkOptions('entra()', options, {
    ...openIdKinds,
    tenant: kind.required([
      (value) => typeof value === 'string' && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value),
      'the id of the directory, a GUID',
    ]),
  } satisfies KindsOf<EntraOptions>)
  const { tenant, ...client } = options
  // As its metadata and its tokens spell it.
  const issuer = `https://login.microsoftonline.com/${tenant.toLowerCase()}/v2.0`
  // offline_access asks for a refresh token.
  const scopes = ['openid', 'profile', 'email', 'offline_access']
  const impliedScopes = graphNames([...(client.scopes ?? []), ...(client.additionalScopes ?? [])])
  return new OidcProvider(
    // As the claim spells it.
    { ...client, issuer, tenantClaim: 'tid', tenants: [tenant.toLowerCase()] },
    { name: 'entra', title: 'Microsoft', scopes, impliedScopes },
  )
}

const graph = 'https://graph.microsoft.com/'

/** Scopes of Microsoft Graph have two names: with its URL, and without. */
const graphNames = (scopes: readonly string[]): Record<string, readonly string[]> =>
  Object.fromEntries(
    scopes.map((scope) => [scope.startsWith(graph) ? scope.slice(graph.length) : graph + scope, [scope]]),
  )

/**
 * Creates the provider Okta. Create an app integration of the type "OIDC - Web Application", with the callback
 * `https://<your host>/oauth/callback/okta`.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://developer.okta.com/docs/reference/api/oidc/
 *
 * @example
 * const login = okta({ clientId: env.OKTA_ID, clientSecret: env.OKTA_SECRET, domain: 'example.okta.com' })
 */
export function okta(options: OktaOptions): IdentityProvider {
  checkOptions('okta()', options, {
    ...openIdKinds,
    ...domainKind,
    authorizationServer: kind.name,
  } satisfies KindsOf<OktaOptions>)
  const { domain, authorizationServer, ...client } = options
  const issuer = `https://${domain}${authorizationServer === undefined ? '' : `/oauth2/${authorizationServer}`}`
  const scopes = ['openid', 'profile', 'email', 'offline_access']
  // ID tokens that come with an access token have few claims: neither groups nor email_verified.
  return new OidcProvider({ ...client, issuer, userInfo: true }, { name: 'okta', title: 'Okta', scopes })
}

/**
 * Creates the provider Auth0. Create an application of the type "Regular Web Application", with the callback
 * `https://<your host>/oauth/callback/auth0`.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://auth0.com/docs/authenticate/protocols/openid-connect-protocol
 *
 * @example
 * const login = auth0({ clientId: env.AUTH0_ID, clientSecret: env.AUTH0_SECRET, domain: 'example.eu.auth0.com' })
 */
export function auth0(options: DomainOptions): IdentityProvider {
  checkOptions('auth0()', options, domainKinds)
  const { domain, ...client } = options
  const scopes = ['openid', 'profile', 'email', 'offline_access']
  return new OidcProvider(
    { ...client, issuer: `https://${domain}/`, tenantClaim: 'org_id' },
    { name: 'auth0', title: 'Auth0', scopes },
  )
}

/**
 * Creates the provider WorkOS AuthKit, as an OpenID provider. Create an OAuth application, with the callback
 * `https://<your host>/oauth/callback/workos`.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://workos.com/docs/authkit/connect
 *
 * @example
 * const login = workos({ clientId: env.WORKOS_ID, clientSecret: env.WORKOS_SECRET, domain: 'example.authkit.app' })
 */
export function workos(options: DomainOptions): IdentityProvider {
  checkOptions('workos()', options, domainKinds)
  const { domain, ...client } = options
  const scopes = ['openid', 'profile', 'email', 'offline_access']
  return new OidcProvider(
    { ...client, issuer: `https://${domain}`, tenantClaim: 'org_id' },
    // The ID token does not name the organization.
    { name: 'workos', title: 'WorkOS', scopes, readsAccessToken: true },
  )
}

/**
 * Creates the provider Clerk. Create an OAuth application, with the callback `https://<your host>/oauth/callback/clerk`.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://clerk.com/docs/advanced-usage/clerk-idp
 *
 * @example
 * const login = clerk({ clientId: env.CLERK_ID, clientSecret: env.CLERK_SECRET, domain: 'clerk.example.com' })
 */
export function clerk(options: DomainOptions): IdentityProvider {
  checkOptions('clerk()', options, domainKinds)
  const { domain, ...client } = options
  return new OidcProvider(
    { ...client, issuer: `https://${domain}`, tenantClaim: 'org_id' },
    { name: 'clerk', title: 'Clerk' },
  )
}

/**
 * Creates the provider Cloudflare Access. Create a SaaS application of the type OIDC, with the callback
 * `https://<your host>/oauth/callback/cloudflare-access`. For a Worker that Access itself protects, use `cloudflareAccess()` of
 * `edgemcp/auth`.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://developers.cloudflare.com/cloudflare-one/applications/configure-apps/saas-apps/generic-oidc-saas/
 *
 * @example
 * const login = cloudflareAccess({ clientId: env.ACCESS_ID, clientSecret: env.ACCESS_SECRET, team: 'example' })
 */
export function cloudflareAccess(options: AccessOptions): IdentityProvider {
  checkOptions('cloudflareAccess()', options, {
    ...openIdKinds,
    team: kind.required([(value) => typeof value === 'string' && /^[a-z\d-]+$/i.test(value), 'the name of the team']),
  } satisfies KindsOf<AccessOptions>)
  const { team, ...client } = options
  const issuer = `https://${team}.cloudflareaccess.com/cdn-cgi/access/sso/oidc/${client.clientId}`
  return new OidcProvider({ ...client, issuer }, { name: 'cloudflare-access', title: 'Cloudflare Access' })
}
