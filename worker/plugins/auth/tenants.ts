/** `tenants()`: names the tenant of each request to an endpoint, and the auth of each tenant. */
import { checkOptions, checkValue, type KindsOf } from '../../declarations/check-options.ts'
import type { Awaitable } from '../../declarations/context.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Auth } from '../../plugin.ts'
import { protectedResource } from '../../protocol/well-known.ts'
import type { Tenants } from '../../tenants.ts'
import { type ForTenantOptions, forTenant } from './for-tenant.ts'

/** Describes a tenant of `tenants()`. */
export type TenantOptions = ForTenantOptions & {
  /** Authenticates the callers of the tenant, such as `bearer()`. Default: everyone may call, without a principal. */
  auth?: Auth | undefined
}

const kinds: KindsOf<TenantOptions> = { auth: kind.auth, issuers: kind.strings, allowMissingClaim: kind.flag }

/**
 * Serves one endpoint to several tenants. Each has its own identity and auth, whose principals all have `tenant`: see `forTenant()`. The
 * tenants share the server, the plugins and the Durable Object classes.
 *
 * @param pattern the path of the endpoint, such as `/{tenant}/mcp`, or its host, such as `{tenant}.example.com`. A tenant has letters,
 * digits, `-` and `_`
 * @param find returns a tenant; `undefined` if it does not exist. A Worker or a Durable Object calls it when it first needs the tenant, and
 * keeps up to 1,000 tenants in memory
 * @throws Error for a pattern that is no address, or has no `{tenant}` or has it in the last part of a path. The message names the fix
 *
 * @example
 * const issuers = new Map([['acme', 'https://login.acme.example']])
 * serve(server, {
 *   tenants: tenants('/{tenant}/mcp', (tenant) => {
 *     const issuer = issuers.get(tenant)
 *     return issuer === undefined ? undefined : { auth: bearer({ issuer }) }
 *   }),
 * })
 */
export function tenants(pattern: string, find: (tenant: string) => Awaitable<TenantOptions | undefined>): Tenants {
  checkValue('tenants()', 'pattern', pattern, kind.string)
  checkValue('tenants()', 'find', find, kind.fn)
  const isPath = pattern.startsWith('/')
  const expression = readPattern(pattern, isPath)
  return {
    pattern,
    tenantOf: ({ hostname, pathname }) => expression.exec(isPath ? pathname : hostname)?.[1],
    async find(tenant) {
      const found = await find(tenant)
      if (!found) return undefined
      checkOptions(`the tenant "${tenant}"`, found, kinds)
      const { auth, ...options } = found
      return auth ? { auth: forTenant(tenant, auth, options) } : {}
    },
  }
}

const place = '{tenant}'

function readPattern(pattern: string, isPath: boolean): RegExp {
  const [before = '', after, ...others] = pattern.split(place)
  if (after === undefined || others.length > 0) {
    throw new Error(`tenants(): "${pattern}" needs one {tenant}, as in "/{tenant}/mcp" or "{tenant}.example.com"`)
  }
  const start = `${RegExp.escape(before)}([\\w-]+)`
  const example = `${before}tenant${after}`
  const isValid = isPath
    ? kind.path[0](example) && !example.endsWith('/')
    : URL.parse(`edgemcp://${example.toLowerCase()}`)?.hostname === example.toLowerCase() && !example.includes('*')
  if (!isValid) {
    throw new Error(
      `tenants(): no request can have the address "${pattern}": write a path or a host without scheme and port, as in "/{tenant}/mcp" or "{tenant}.example.com"`,
    )
  }
  if (!isPath) return new RegExp(`^${start}${RegExp.escape(after)}$`, 'i')
  const last = after.lastIndexOf('/')
  if (last === -1)
    throw new Error(`tenants(): put {tenant} before the last part of "${pattern}", as in "/{tenant}/mcp"`)
  const endpoints = `(?:${RegExp.escape(after.slice(last + 1))}|sse|messages)`
  return new RegExp(`^(?:${protectedResource})?${start}${RegExp.escape(after.slice(0, last))}/${endpoints}/*$`)
}
