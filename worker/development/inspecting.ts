/** The inspector at `/`, in the place of the page that a deployment has there. */
import type { Host } from '../http/host.ts'
import { inspector } from '../inspector/inspector.ts'

export type Page = (request: Request, host: Host) => Promise<Response>

/** @param page what a deployment has at `/`: it is at `/?page` */
export function inspecting(page: Page | undefined): Page {
  const inspect = inspector({ open: true })
  return async (request, host) => {
    const { searchParams } = new URL(request.url)
    return page && searchParams.has('page') ? page(request, host) : inspect(request, host)
  }
}
