/** Sends requests to a host name of the test server, as `fetch` cannot: `.localhost` does not resolve everywhere. */
import { request } from 'node:http'

export type Received = { status: number; headers: Headers; text: string; bytes: Buffer }

/** @param host a label before `.localhost` */
export function send(
  server: URL,
  host: string,
  path: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<Received> {
  const { promise, resolve, reject } = Promise.withResolvers<Received>()
  const options = {
    hostname: server.hostname,
    port: server.port,
    path,
    method,
    headers: { Host: `${host}.localhost`, ...headers },
  }
  request(options, (response) => {
    const parts: Buffer[] = []
    response.on('data', (part: Buffer) => parts.push(part))
    response.on('error', reject)
    response.on('end', () => {
      const { statusCode: status = 0, headersDistinct } = response
      const pairs = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      )
      const bytes = Buffer.concat(parts)
      resolve({ status, headers: new Headers(pairs), text: bytes.toString(), bytes })
    })
  })
    .on('error', reject)
    .end()
  return promise
}
