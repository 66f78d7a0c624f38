/** Who comes in from where, told by what a browser would make of the answers. */
import { request } from 'node:http'

const page = 'https://app.example.com'
const others = 'https://other.example.com'

/** What a page sends that makes its first request. */
const headers = {
  Authorization: 'Bearer ada',
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
}
const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'page', version: '1.0.0' } }
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })

/** @param url where a server is that lets in a page of `app.example.com`, and is called `desk.example.com` */
export async function doorsOf(url: URL) {
  return {
    page: await visit(url, page),
    otherPage: await visit(url, others),
    name: await statusAs('desk.example.com', url),
    otherName: await statusAs('other.example.com', url),
    otherPath: await statusAs(url.host, new URL('/mcp', url)),
  }
}

/** What `doorsOf` tells of such a server. */
export const doors = {
  page: { mayAsk: true, status: 200, mayRead: true },
  otherPage: { mayAsk: false, status: 403, mayRead: false },
  name: 200,
  otherName: 403,
  otherPath: 404,
}

/** As a browser does it, except that it asks also when its preflight was refused. */
async function visit(url: URL, origin: string) {
  const names = Object.keys(headers).filter((name) => name !== 'Accept')
  const asked = {
    Origin: origin,
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': names.join(', ').toLowerCase(),
  }
  const preflight = await fetch(url, { method: 'OPTIONS', headers: asked })
  const answer = await fetch(url, { method: 'POST', headers: { ...headers, Origin: origin }, body })
  await answer.body?.cancel()
  const isFor = (response: Response) =>
    ['*', origin].includes(response.headers.get('Access-Control-Allow-Origin') ?? '')
  const allowed = preflight.headers.get('Access-Control-Allow-Headers')?.toLowerCase().split(', ') ?? []
  const mayAsk = preflight.ok && isFor(preflight) && names.every((name) => allowed.includes(name.toLowerCase()))
  return { mayAsk, status: answer.status, mayRead: isFor(answer) }
}

/** For somebody who calls the server that; `fetch` has its own mind about it. */
async function statusAs(Host: string, url: URL): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const asked = request(url, { method: 'POST', headers: { ...headers, Host } }, (answer) => {
    answer.resume()
    resolve(answer.statusCode)
  })
  asked.on('error', reject)
  asked.end(body)
  return promise
}
