/** The inspector at `/`, in development. */

import { routesOf } from '../../check-plugins.ts'
import type { AnyPlugin, Route, Runtime } from '../../plugin.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import { inspectorPage } from '../page/inspector/page.ts'
import { inspectorLink, signIn } from './inspector-key.ts'
import { isInside, serveInternals } from './internals.ts'
import { ownPageKey } from './own-page.ts'
import { withoutTestUsers } from './users.ts'

/**
 * Serves the inspector at `/`, and the page of a plugin at `/?page`. An endpoint that is there has none.
 */
export function withInspector(plugins: readonly AnyPlugin[], env: object): AnyPlugin[] {
  /** The page of each endpoint and tenant, which the first plugin with one has. */
  const pages = new WeakMap<Runtime, { readonly plugin: AnyPlugin; readonly handle: Route['handle'] }>()
  const others = plugins.map((plugin) => ({
    ...plugin,
    routes(runtime: Runtime) {
      const routes = routesOf(plugin, runtime)
      const own = routes.find(({ path }) => path === '/')
      if (!own) return routes
      const page = pages.get(runtime) ?? { plugin, handle: own.handle }
      pages.set(runtime, page)
      // A second one is refused with the inspector's.
      return page.plugin === plugin ? routes.filter((route) => route !== own) : routes
    },
  }))
  const handle = async (request: Request, host: ServerInfo, page: Route['handle'] | undefined) => {
    const url = new URL(request.url)
    if (request.method === 'POST')
      return isInside(url)
        ? serveInternals(request, await ownPageKey(request, env))
        : new Response(null, { status: 405, headers: { Allow: 'GET, HEAD' } })
    if (page && url.searchParams.has('page')) return page(request, { ...host, auth: withoutTestUsers(host.auth) })
    const signedIn = await signIn(request, env)
    if (signedIn) return signedIn
    const key = await ownPageKey(request, env)
    if (key !== 'current') await printLink(url, env)
    if (isInside(url)) return serveInternals(request, key)
    return inspectorPage(request, host, accessOf[key])
  }
  return [
    ...others,
    {
      name: 'inspector of development',
      routes: (runtime) => {
        const handler: Route['handle'] = (request, host) => handle(request, host, pages.get(runtime)?.handle)
        return runtime.paths.mcp === '/' ? [] : [{ path: '/', methods: ['GET', 'HEAD', 'POST'], handle: handler }]
      },
    },
  ]
}

const accessOf = { current: 'developer', earlier: 'key of an earlier start', missing: 'key missing' } as const

let isPrinted = false

async function printLink(url: URL, env: object): Promise<void> {
  if (isPrinted) return
  isPrinted = true
  console.log(`edgemcp: the inspector with test users and Durable Objects is at ${await inspectorLink(url, env)}`)
}
