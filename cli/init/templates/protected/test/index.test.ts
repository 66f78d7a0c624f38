import { connect } from 'edgemcp/testing'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createTestHarness } from 'wrangler'

const ISSUER = 'https://issuer.test'
const keys = await generateKeyPair('ES256')
const published: Record<string, unknown> = {
  '/.well-known/oauth-authorization-server': { issuer: ISSUER, jwks_uri: `${ISSUER}/keys` },
  '/keys': { keys: [{ ...(await exportJWK(keys.publicKey)), alg: 'ES256', kid: 'test' }] },
}

// The Worker's requests pass through here, too: this is the authorization server.
const { fetch } = globalThis
vi.stubGlobal('fetch', async (input: string | URL | Request, init?: RequestInit) => {
  const url = new URL(input instanceof Request ? input.url : input)
  return url.origin === ISSUER ? Response.json(published[url.pathname]) : fetch(input, init)
})

const harness = createTestHarness({ workers: [{ configPath: 'wrangler.toml', vars: { ISSUER } }] })
let url: URL

beforeAll(async () => {
  url = new URL('/mcp', (await harness.listen()).url)
})
afterAll(() => harness.close())

const token = (scope: string) =>
  new SignJWT({ scope, client_id: 'test' })
    .setProtectedHeader({ alg: 'ES256', kid: 'test' })
    .setIssuer(ISSUER)
    .setAudience(url.href)
    .setSubject('ada')
    .setExpirationTime('5m')
    .sign(keys.privateKey)

test('refuses a caller without a token, and names the authorization server', async () => {
  const response = await fetch(url, { method: 'POST' })
  expect(response.status).toBe(401)
  const described = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url))
  expect(await described.json()).toMatchObject({ authorization_servers: [ISSUER] })
})

test('a token allows what its scopes do', async () => {
  const reader = await connect(url, { revision: '2025-11-25', token: await token('notes:read') })
  const { content } = await reader.callTool('read_note', { id: '1' })
  expect(content).toEqual([{ type: 'text', text: 'This is the note 1.' }])

  const guest = await connect(url, { revision: '2025-11-25', token: await token('') })
  await expect(guest.callTool('read_note', { id: '1' })).rejects.toThrow()
})
