/** Caches evict the entry that was used least recently, and keep the others, when they are full. */
import { createExecutionContext } from 'cloudflare:test'
import { createServer, serve } from 'edgemcp'
import { tenants } from 'edgemcp/auth'
import { expect, test } from 'vitest'
import type { Host } from '../../worker/http/host.ts'
import { Introspection } from '../../worker/plugins/auth/introspection.ts'
import { openSessionId } from '../../worker/plugins/sessions/session-id.ts'
import type { ServerInfo } from '../../worker/request-hooks.ts'

const request = new Request('https://mcp.example/mcp')
const site = { waitUntil: () => {} } as unknown as ServerInfo // all that introspection uses of it

test('a full cache of inactive tokens evicts the oldest token only', async () => {
  const asked: string[] = []
  const introspection = new Introspection({ clientId: 'mcp', clientSecret: 'secret' }, async (_, init) => {
    asked.push(String((init.body as URLSearchParams).get('token')))
    return Response.json({ active: false })
  })
  const ask = (number: number) => introspection.ask(`token-${number}`, 'https://auth.example/introspect', request, site)
  for (let number = 0; number <= 1_000; number += 1) await ask(number)
  asked.length = 0
  for (const number of [1_000, 500, 1]) await ask(number)
  expect(asked).toEqual([])
  await ask(0)
  expect(asked).toEqual(['token-0'])
})

test.each([
  { limit: 'entries', most: 10_000, idOf: (number: number) => `session-${number}` },
  { limit: 'characters', most: 512, idOf: (number: number) => `session-${number}`.padEnd(4_095, '.') },
])('a cache of unsealed sessions with the maximum of $limit evicts the oldest session only', async ({ most, idOf }) => {
  const opened: string[] = []
  const handshakeOf = (id: string) => ({
    version: '2025-11-25',
    capabilities: {},
    client: { name: id, version: '1' },
  })
  const host = {
    sealer: async () => ({
      open: async (_purpose: string, _principal: undefined, id: string) => {
        opened.push(id)
        return { expires: Date.now() + 60_000, handshake: handshakeOf(id) }
      },
    }),
  } as unknown as Host // all that opening a session id uses of it
  const use = (number: number) => openSessionId(idOf(number), host, undefined)
  // The key of a session has its principal, an empty text here, and a space.
  for (let number = 0; number <= most; number += 1) await use(number)
  opened.length = 0
  for (const number of [most, 500, 1]) {
    expect(await use(number)).toMatchObject({ handshake: handshakeOf(idOf(number)) })
  }
  expect(opened).toEqual([])
  await use(0)
  expect(opened).toEqual([idOf(0)])
})

test('a tenant in frequent use stays in memory while many other tenants are used', async () => {
  const found: string[] = []
  const worker = serve(createServer({ name: 'tenants', version: '1.0.0' }), {
    tenants: tenants('/{tenant}/mcp', (tenant) => {
      found.push(tenant)
      return {}
    }),
  })
  const visit = async (tenant: string) => {
    const request = new Request(`https://mcp.example/${tenant}/mcp`, { method: 'OPTIONS' })
    await worker.fetch(request, {}, createExecutionContext())
  }
  await visit('acme')
  for (let number = 0; number < 1_500; number += 1) {
    await visit(`tenant-${number}`)
    if (number % 500 === 0) await visit('acme')
  }
  expect(found.filter((tenant) => tenant === 'acme')).toEqual(['acme'])
})
