/** The inspector at `/`, in the place of the page that a deployment has there. */
import type { Host } from '../http/host.ts'
import { inspectorPage } from '../inspector/page.ts'
import { inspectorLink, signIn } from './inspector-key.ts'
import { isInside, serveInternals } from './internals.ts'
import { isOwnPage } from './own-page.ts'

export type Page = (request: Request, host: Host) => Promise<Response>

/**
 * @param page what a deployment has at `/`: it is at `/?page`
 * @param auth of the options of serve(), which made-up users are added to: the page gets it as in a deployment
 */
export const inspecting =
  (page: Page | undefined, env: object, auth: Host['auth']): Page =>
  async (request, host) => {
    const url = new URL(request.url)
    if (isInside(url)) return serveInternals(request, env)
    if (page && url.searchParams.has('page')) return page(request, { ...host, auth })
    const signedIn = signIn(request, env)
    if (signedIn) return signedIn
    const isOwn = isOwnPage(request, env)
    if (!isOwn) printLink(url, env)
    return inspectorPage(request, host, isOwn ? 'developer' : 'key missing')
  }

let isPrinted = false

function printLink(url: URL, env: object): void {
  if (isPrinted) return
  isPrinted = true
  console.log(`edgemcp: the inspector with made-up users and Durable Objects is at ${inspectorLink(url, env)}`)
}
