/** Tenants: an endpoint that serves several organizations, each with an identity and an `auth` of its own. */
import type { Awaitable } from './declarations/context.ts'
import type { Auth } from './plugin.ts'

/** Describes a tenant of an endpoint. */
export type Tenant = {
  /** Authenticates the callers of the tenant, all of whose principals have `tenant`. Default: everyone may call, without a principal. */
  readonly auth?: Auth
}

/** Names the tenant of each request, and describes it: `tenants()` of `edgemcp/auth` returns one. */
export interface Tenants {
  /** Path of the endpoint of a tenant, such as `/{tenant}/mcp`, or its host, such as `{tenant}.example.com`. */
  readonly pattern: string
  /** Returns the tenant that a URL names; `undefined` for any other URL. */
  tenantOf(url: URL): string | undefined
  /** Returns a tenant, when a Worker or a Durable Object first needs it; `undefined` if it does not exist. */
  find(tenant: string): Awaitable<Tenant | undefined>
}
