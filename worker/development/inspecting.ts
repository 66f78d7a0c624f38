/** The inspector at `/`, in the place of the page that a deployment has there. */
import type { Host } from '../http/host.ts'
import { inspectorPage } from '../inspector/page.ts'
import { inside, isInside, type Names } from './inside.ts'

export type Page = (request: Request, host: Host) => Promise<Response>

/** @param page what a deployment has at `/`: it is at `/?page` */
export const inspecting =
  (page: Page | undefined, names: Names): Page =>
  async (request, host) => {
    const url = new URL(request.url)
    if (isInside(url)) return inside(request, names)
    return page && url.searchParams.has('page') ? page(request, host) : inspectorPage(request, host, true)
  }
