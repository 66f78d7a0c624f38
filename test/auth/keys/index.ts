/**
 * Servers that know nothing yet, one for each pair of an issuer's port and a name: `/<port>/<name>/mcp`. Two of them with
 * one issuer are what two isolates are: they share the data centre's cache and nothing else.
 */
import { env } from 'cloudflare:workers'
import { createServer, type ServedWorker, serve } from 'edgemcp'
import { bearer, type Fetch } from 'edgemcp/auth'
import { abandon } from '../abandon.ts'
import { setClock } from '../clock.ts'

const server = createServer({ name: 'keys', version: '1.0.0' })
server.tool('who', { description: 'Who asks' }, (_, { principal }) => `${principal?.subject}`)

const workers = new Map<string, ServedWorker>()

function workerFor(path: string): ServedWorker {
  const [, port, name] = path.split('/')
  const of = `/${port}/${name}`
  const known = workers.get(of)
  if (known) return known
  // Nothing of a token is kept: each request needs the keys.
  const auth = bearer({
    issuer: `http://127.0.0.1:${port}`,
    tokenCacheMs: 0,
    ...(name?.startsWith('moved-') && { fetch: fetchMoved(name.slice('moved-'.length)) }),
  })
  // Isolates of one server have one identity.
  const identity = name?.startsWith('foreign-') ? name : 'keys'
  const worker = serve(server, { path: `${of}/mcp`, auth, identity })
  workers.set(of, worker)
  return worker
}

/** An issuer that answers one path from somewhere else. It is this Worker, so that nothing on the way follows for it. */
const fetchMoved =
  (moved: string): Fetch =>
  (url, init) =>
    url.endsWith(moved)
      ? SELF.fetch(`https://issuer.example/moved?to=${encodeURIComponent(url)}`, init)
      : fetch(url, init)

let arrived = 0
let kept = 0
let lastKey: Parameters<Cache['put']>[0]
const put = caches.default.put.bind(caches.default)
caches.default.put = async (...parameters: Parameters<typeof put>) => {
  await put(...parameters)
  lastKey = parameters[0]
  kept += 1
}

/** Reads and replaces the last cache entry, as another Worker of the zone can. */
async function lastEntry(request: Request): Promise<Response> {
  if (request.method === 'GET') return (await caches.default.match(lastKey)) ?? new Response(null, { status: 404 })
  await put(lastKey, new Response(await request.text(), { headers: { 'Cache-Control': 'max-age=86400' } }))
  return new Response()
}

const { SELF } = env as unknown as { SELF: Fetcher }

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { url } = request
    const { pathname, searchParams } = new URL(url)
    const clock = setClock(new URL(url))
    if (clock) return clock
    if (pathname === '/moved')
      return new Response(null, { status: 302, headers: { Location: url.replace('moved', 'found') } })
    if (pathname === '/found') return fetch(searchParams.get('to') as string)
    if (pathname === '/arrived') return new Response(`${arrived}`)
    if (pathname === '/kept') return new Response(`${kept}`)
    if (pathname === '/last-entry') return lastEntry(request)
    if (pathname.startsWith('/abandoned/')) {
      const left = new Request(url.replace('/abandoned', ''), request)
      return abandon(SELF, left, searchParams.get('until') as string)
    }
    arrived += 1
    return workerFor(pathname).fetch(request, env, ctx)
  },
}
