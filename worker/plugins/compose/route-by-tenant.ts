import { checkValue } from '../../declarations/check-options.ts'
import type { Awaitable } from '../../declarations/context.ts'
import { fn, string } from '../../declarations/option-kinds.ts'
import { BoundedMap } from '../../protocol/bounded-map.ts'
import { protectedResource } from '../../protocol/well-known.ts'
import { type FetchHandler, handlerOf, type WorkerOrHandler } from './workers.ts'

/** Returns the Worker of a tenant; `undefined` if the tenant does not exist. @param path the path of the tenant's endpoint, for `serve()` */
export type TenantWorker = (tenant: string, path: string) => Awaitable<WorkerOrHandler | undefined>

/** Workers of tenants in memory. The least recently used one is deleted first, and created again when a request needs it. */
const mostKept = 1000

/**
 * Creates a handler that routes requests to the Worker of their tenant. The Worker is created at the first request, and kept in memory.
 * Returns `undefined` for requests without a tenant, and for unknown tenants. Pass it to `combine()`, with `forTenant` of `edgemcp/auth`.
 *
 * @param pattern a host, such as `{tenant}.example.com`, or the path of an endpoint, such as `/{tenant}/mcp`. A tenant has letters, digits,
 * `-` and `_`
 * @param workerFor returns the Worker of a tenant
 * @throws Error for a pattern without `{tenant}`, and for one with `{tenant}` in the last part of a path
 *
 * @example
 * const tenants = routeByTenant('/{tenant}/mcp', (tenant, path) => {
 *   return ['acme', 'globex'].includes(tenant) ? serve(server, { path, auth }) : undefined
 * })
 */
export function routeByTenant(pattern: string, workerFor: TenantWorker): FetchHandler {
  checkValue('routeByTenant()', 'pattern', pattern, string)
  checkValue('routeByTenant()', 'workerFor', workerFor, fn)
  const isPath = pattern.startsWith('/')
  const expression = readPattern(pattern, isPath)
  const kept = new BoundedMap<string, FetchHandler>({ maxEntries: mostKept })
  return async (request, env, ctx) => {
    const { hostname, pathname } = new URL(request.url)
    const tenant = expression.exec(isPath ? pathname : hostname)?.[1]
    if (tenant === undefined) return undefined
    const ask = kept.get(tenant) ?? (await build(tenant))
    return ask?.(request, env, ctx)
  }

  async function build(tenant: string): Promise<FetchHandler | undefined> {
    const worker = await workerFor(tenant, isPath ? pattern.replace(place, tenant) : '/mcp')
    if (!worker) return undefined
    // A request that came at the same time has made it before.
    const known = kept.get(tenant)
    if (known) return known
    const ask = handlerOf('routeByTenant()', `workerFor("${tenant}")`, worker)
    kept.set(tenant, ask)
    return ask
  }
}

const place = '{tenant}'

function readPattern(pattern: string, isPath: boolean): RegExp {
  const [before = '', after, ...others] = pattern.split(place)
  if (after === undefined || others.length > 0) {
    throw new Error(`routeByTenant: "${pattern}" needs one {tenant}, as in "/{tenant}/mcp" or "{tenant}.example.com"`)
  }
  const start = `${RegExp.escape(before)}([\\w-]+)`
  if (!isPath) return new RegExp(`^${start}${RegExp.escape(after)}$`, 'i')
  const last = after.lastIndexOf('/')
  if (last === -1)
    throw new Error(`routeByTenant: put {tenant} before the last part of "${pattern}", as in "/{tenant}/mcp"`)
  const endpoints = `(?:${RegExp.escape(after.slice(last + 1))}|sse|messages)`
  return new RegExp(`^(?:${protectedResource})?${start}${RegExp.escape(after.slice(0, last))}/${endpoints}/*$`)
}
