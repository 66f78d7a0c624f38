import type { Host } from './host.ts'

/** A page for people who open the server's address in a browser. */
export async function page(_request: Request, host: Host): Promise<Response> {
  return new Response(`<!doctype html><title>${host.server.registry.options.name}</title>`, {
    headers: { 'Content-Type': 'text/html; charset=utf-8' },
  })
}
