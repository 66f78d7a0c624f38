/** Requests to host names that do not resolve: all of them go to one server. */
import { request as ask } from 'node:http'
import { Readable } from 'node:stream'

/** @param server the server that gets the requests @returns a target of a client, or a `fetch` */
export const namedHost =
  (server: URL) =>
  async (request: Request): Promise<Response> => {
    const { host, pathname, search } = new URL(request.url)
    const body = Buffer.from(await request.arrayBuffer())
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    const sent = ask(
      {
        hostname: server.hostname,
        port: server.port,
        path: pathname + search,
        method: request.method,
        signal: request.signal,
        headers: { ...Object.fromEntries(request.headers), host, 'content-length': body.length },
      },
      (answer) => {
        const headers = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as [string, string])
        const { statusCode: status = 0 } = answer
        const hasBody = ![202, 204].includes(status)
        resolve(new Response(hasBody ? (Readable.toWeb(answer) as ReadableStream) : null, { status, headers }))
      },
    )
    sent.on('error', reject)
    sent.end(body)
    return promise
  }
