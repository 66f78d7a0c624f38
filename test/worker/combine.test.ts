import { describe, expect, test } from 'vitest'
import { combine, routeHandler } from '../../worker/plugins/compose/workers.ts'

/** A Worker as `serve()` returns it, which answers every request with its name and the path. */
function served(name: string, parent: string, routes: readonly string[] = []) {
  const paths = { mcp: `${parent}/mcp`, sse: `${parent}/sse`, messages: `${parent}/messages` }
  const answered = [...Object.values(paths), ...routes, `/.well-known/oauth-protected-resource${paths.mcp}`]
  return {
    paths,
    routes,
    fetch: async (request: Request) => {
      const { pathname } = new URL(request.url)
      return new Response(`${name} ${pathname}`, {
        status: answered.includes(pathname.replace(/(.)\/$/, '$1')) ? 200 : 404,
      })
    },
  }
}

type Fetch = (request: Request, env: unknown, ctx: unknown) => Promise<Response>

/** The text of the answer, or its status when it is no success. */
async function ask(worker: { fetch: unknown }, path: string): Promise<string | number> {
  const response = await (worker.fetch as Fetch)(new Request(`https://mcp.example.com${path}`), {}, {})
  return response.ok ? response.text() : response.status
}

test('combine refuses two servers at one path', () => {
  const message =
    'Two servers of combine() have the path "/a/mcp", so the second one never gets a request: give one of them another path'
  expect(() => combine(served('one', '/a'), () => undefined, served('two', '/a'))).toThrow(message)
  // Endpoints of one folder share the paths of HTTP+SSE: the first has them.
  const beside = served('two', '/a')
  combine(served('one', '/a'), { ...beside, paths: { ...beside.paths, mcp: '/a/other' } })
})

describe('combine', () => {
  const notes = served('notes', '', ['/', '/metrics'])
  const weather = served('weather', '/weather', ['/'])
  const app = {
    fetch: (request: Request) =>
      Promise.resolve(new URL(request.url).pathname === '/app' ? new Response('app') : undefined),
  }
  const whole = combine(notes, weather, app)

  test.each([
    ['/mcp', 'notes /mcp'],
    ['/messages', 'notes /messages'],
    ['/messages/', 'notes /messages/'],
    ['/weather/sse', 'weather /weather/sse'],
    ['/metrics', 'notes /metrics'],
    ['/.well-known/oauth-protected-resource/weather/mcp', 'weather /.well-known/oauth-protected-resource/weather/mcp'],
    ['/app', 'app'],
    ['/', 'notes /'],
    ['/other', 404],
    ['/mcp/other', 404],
  ])('answers %s with %s', async (path, answer) => {
    expect(await ask(whole, path)).toBe(answer)
  })

  test('routes / to another Worker that serves it', async () => {
    expect(await ask(combine(notes, { fetch: () => new Response('home') }), '/')).toBe('home')
  })

  test('answers / with 404 when no server has a page', async () => {
    expect(await ask(combine(served('plain', '')), '/')).toBe(404)
  })
})

test.each([403, 404])('metadata requests that one server answers with %s go to the next server', async (status) => {
  const first = { ...served('notes', ''), fetch: async () => new Response('', { status }) }
  const metadata = '/.well-known/oauth-protected-resource'
  const second = { ...served('weather', '/weather'), fetch: async () => new Response('metadata of weather') }
  expect(await ask(combine(first, second), metadata)).toBe('metadata of weather')
})

test('routeHandler returns undefined for other paths', async () => {
  const handle = routeHandler(served('notes', '', ['/', '/metrics'])) as unknown as Fetch
  const answered = async (path: string) => (await handle(new Request(`https://a.example${path}`), {}, {}))?.status
  expect(await answered('/metrics')).toBe(200)
  expect(await answered('/')).toBeUndefined()
  expect(await answered('/other')).toBeUndefined()
})
