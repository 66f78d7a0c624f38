/** edgemcp/auth: Authenticate and authorize callers by the access tokens of OAuth 2.1 authorization servers. */
export { type BearerOptions, bearer } from './bearer.ts'
export type { ClaimOptions, TokenClaims } from './claims.ts'
export { findUnscoped } from './declared-scopes.ts'
export type { Fetch } from './fetch-json.ts'
export { type ForTenantOptions, forTenant } from './for-tenant.ts'
export type { IntrospectionOptions } from './introspection.ts'
export { type CloudflareAccessOptions, cloudflareAccess, oauthProvider } from './presets.ts'
export type { Algorithm, IssuerOptions } from './verify-jwt.ts'
