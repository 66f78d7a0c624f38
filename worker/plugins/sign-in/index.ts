/** edgemcp/sign-in: Sign users in with an identity provider, and issue the tokens of the server to MCP clients. */

export type { ClientOptions } from './providers/client-options.ts'
export { type GitHubOptions, github } from './providers/github.ts'
export { type OAuth2Options, oauth2 } from './providers/oauth2.ts'
export { type OidcOptions, oidc } from './providers/oidc.ts'
export {
  type AccessOptions,
  auth0,
  clerk,
  cloudflareAccess,
  type DomainOptions,
  type EntraOptions,
  entra,
  type GoogleOptions,
  google,
  type OktaOptions,
  okta,
  workos,
} from './providers/openid-providers.ts'
export {
  AccessDenied,
  type IdentityProvider,
  RefreshRejected,
  TokenRejected,
  type UpstreamTokens,
  type User,
  type UserClaims,
  type Visit,
} from './providers/provider.ts'
export { type SignInAuth, type SignInClaims, type SignInClass, signIn } from './sign-in.ts'
export type { EnterpriseClient, EnterpriseIssuer, EnterpriseOptions, SignInOptions } from './sign-in-options.ts'
export type { Grant, GrantManager, SignedInUser } from './user-grants.ts'
