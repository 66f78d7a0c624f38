import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/**
 * Serves a fetch handler on this machine. `undefined` is status 404; what it throws is printed, with status 500.
 *
 * @param port Default: one that is free
 * @returns its origin
 */
export async function listen(
  respond: (request: Request) => Response | undefined | Promise<Response | undefined>,
  port = 0,
): Promise<{ url: string; close(): Promise<void> }> {
  const httpServer = createServer(async (incoming, outgoing) => {
    const { method = 'GET', url = '/', headers } = incoming
    const hasBody = method !== 'GET' && method !== 'HEAD'
    // Values of a repeated header are joined, as Headers does it.
    const received = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
    const init = { method, headers: received, ...(hasBody && { body: await buffer(incoming) }) }
    const answer = async () => respond(new Request(`http://${headers.host}${url}`, init))
    const response = await answer().catch((problem) => {
      console.error(problem)
      return new Response(null, { status: 500 })
    })
    outgoing.writeHead(response?.status ?? 404, Object.fromEntries(response?.headers ?? []))
    outgoing.end(response && Buffer.from(await response.arrayBuffer()))
  })
  await new Promise<void>((resolve, reject) => {
    httpServer.once('error', reject)
    httpServer.listen(port, '127.0.0.1', resolve)
  })
  // It listens on a port, not on a socket of the file system.
  const { port: listening } = httpServer.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${listening}`,
    close: () =>
      new Promise((closed) => {
        httpServer.close(() => closed())
        httpServer.closeAllConnections()
      }),
  }
}
