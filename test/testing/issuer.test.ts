import { calculateJwkThumbprint, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { connect, fakeIssuer, RpcError, type Token } from '../../worker/testing/index.ts'
import { type RunningServer, startIssuer, startProvider, startServer } from '../../worker/testing/node/index.ts'

let issuer: Awaited<ReturnType<typeof startIssuer>>
let server: RunningServer
beforeAll(async () => {
  issuer = await startIssuer()
  server = await startServer({ config: 'examples/protected/wrangler.toml', vars: { ISSUER: issuer.issuer } })
})
afterAll(async () => {
  await server.close()
  await issuer.close()
})

test.each(['2025-11-25', '2026-07-28'])(
  'a handler gets the principal of tokenFor() from a client of %s',
  async (revision) => {
    const token = issuer.tokenFor({ sub: 'ada', scope: 'notes:read' })
    await using client = await connect(server, { revision, token })
    expect(await client.callTool('whoami')).toMatchObject({ content: [{ text: 'ada, who may notes:read' }] })
    await expect(client.callTool('write_note', { id: 'a', text: 'A' })).rejects.toMatchObject({ status: 403 })
  },
)

test('an invalid token of tokenFor() is refused by the real checks', async () => {
  const now = Math.floor(Date.now() / 1000)
  const other = await fakeIssuer('https://other.example')
  const refused = async (token: Token) => {
    const problem = await connect(server, { revision: '2026-07-28', token }).catch((thrown: unknown) => thrown)
    expect(problem).toBeInstanceOf(RpcError)
    expect(problem).toMatchObject({ status: 401 })
    return (problem as Error).message
  }
  expect(await refused(issuer.tokenFor({ sub: 'ada', exp: now - 60 }))).toBe('The token has expired')
  expect(await refused(issuer.tokenFor({ sub: 'ada', aud: 'https://other.example' }))).toContain('a different audience')
  expect(await refused(issuer.tokenFor({ sub: 'ada', iss: 'https://other.example' }))).toContain('issuer')
  expect(await refused(other.tokenFor({ sub: 'ada', iss: issuer.issuer }))).toContain('does not publish the key')
})

test('issuers with the same URL have the same keys, also when they start concurrently', async () => {
  const [one, two] = await Promise.all([fakeIssuer('https://issuer.example'), fakeIssuer('https://issuer.example')])
  expect(two.keys).toEqual(one.keys)
  expect((await fakeIssuer('https://issuer.example')).keys).toEqual(one.keys)
  expect((await fakeIssuer('https://other.example')).keys).not.toEqual(one.keys)
})

test('the id of a key is its thumbprint, so that a server does not take the key of another process for it', async () => {
  const url = 'https://issuer.example'
  const { keys, tokenFor } = await fakeIssuer(url)
  const [key] = keys.keys
  expect(key?.kid).toBe(await calculateJwkThumbprint(key ?? {}))
  expect(decodeProtectedHeader(await tokenFor({ sub: 'ada' })(url))).toMatchObject({ kid: key?.kid })
  await using provider = await startProvider({ users: [] })
  const published = await (await fetch(`${provider.url}/keys`)).json()
  expect(published.keys[0].kid).toBe(await calculateJwkThumbprint(published.keys[0]))
  // As another process.
  vi.resetModules()
  const other = await import('../../worker/testing/fake-issuer.ts')
  expect((await other.fakeIssuer(url)).keys.keys[0]?.kid).not.toBe(key?.kid)
})

test('an issuer listens on the port that is given', async () => {
  const first = await startIssuer()
  const { issuer, close } = first
  await close()
  await using second = await startIssuer({ port: Number(new URL(issuer).port) })
  expect(second.issuer).toBe(issuer)
})
