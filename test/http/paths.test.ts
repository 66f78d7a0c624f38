import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/http/cross-origin')
})
afterAll(() => server[Symbol.asyncDispose]())

const ask = (path: string, method = 'GET') => fetch(new URL(server.url).origin + path, { method })

test.each([
  ['/report', 'GET, OPTIONS'],
  ['/report/', 'GET, OPTIONS'],
  ['/report//?a=1', 'GET, OPTIONS'],
  ['/mcp/', 'GET, POST, DELETE, OPTIONS'],
  ['/sse/', 'GET, OPTIONS'],
  ['/messages/?session=1', 'POST, OPTIONS'],
])('%s is a path of the Worker', async (path, methods) => {
  expect((await ask(path, 'OPTIONS')).headers.get('Access-Control-Allow-Methods')).toBe(methods)
  const other = await ask(path, 'PUT')
  expect([other.status, other.headers.get('Allow')]).toEqual([405, methods])
})

test.each(['/', '/report/report', '/Report', '//report', '/reports', '/constructor'])('%s is not', async (path) => {
  for (const method of ['GET', 'POST', 'OPTIONS']) expect((await ask(path, method)).status).toBe(404)
})
