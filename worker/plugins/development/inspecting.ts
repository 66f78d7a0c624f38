/** The inspector at `/`, in development. */

import { routesOf } from '../../check-plugins.ts'
import type { AnyPlugin, Route, Runtime } from '../../plugin.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import { inspectorPage } from '../page/inspector/page.ts'
import { inspectorLink, signIn } from './inspector-key.ts'
import { isInside, serveInternals } from './internals.ts'
import { ownPageKey } from './own-page.ts'

/**
 * Serves the inspector at `/`, and the page of a plugin at `/?page`.
 *
 * @param auth of the options of `serve()`, without test users: the page of the plugin receives it as in a deployment
 */
export function withInspector(plugins: readonly AnyPlugin[], env: object, auth: ServerInfo['auth']): AnyPlugin[] {
  let page: Route['handle'] | undefined
  const others = plugins.map((plugin) => ({
    ...plugin,
    routes(runtime: Runtime) {
      const routes = routesOf(plugin, runtime)
      const own = routes.find(({ path }) => path === '/')
      // A second one is refused with the inspector's.
      if (page) return routes
      page = own?.handle
      return routes.filter((route) => route !== own)
    },
  }))
  const handle: Route['handle'] = async (request, host) => {
    const url = new URL(request.url)
    if (page && url.searchParams.has('page')) return page(request, { ...host, auth })
    const signedIn = await signIn(request, env)
    if (signedIn) return signedIn
    const key = await ownPageKey(request, env)
    if (key !== 'current') await printLink(url, env)
    if (isInside(url)) return serveInternals(url, key)
    return inspectorPage(request, host, accessOf[key])
  }
  return [
    ...others,
    { name: 'inspector of development', routes: () => [{ path: '/', methods: ['GET', 'HEAD'], handle }] },
  ]
}

const accessOf = { current: 'developer', earlier: 'key of an earlier start', missing: 'key missing' } as const

let isPrinted = false

async function printLink(url: URL, env: object): Promise<void> {
  if (isPrinted) return
  isPrinted = true
  console.log(`edgemcp: the inspector with test users and Durable Objects is at ${await inspectorLink(url, env)}`)
}
