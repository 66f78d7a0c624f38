import { readFileSync } from 'node:fs'
import { connect, fakeIssuer } from 'edgemcp/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'

const issuer = await fakeIssuer('https://issuer.test')
const vars = { ISSUER: issuer.issuer, KEYS: JSON.stringify(issuer.keys) }
const harness = createTestHarness({ workers: [{ configPath: 'wrangler.toml', vars }] })
let url: URL

beforeAll(async () => {
  url = new URL('/mcp', (await harness.listen()).url)
  const { DB } = await harness.getWorker<Env>().getEnv()
  await DB.prepare(readFileSync('migrations/0001_projects.sql', 'utf8')).run()
}, 60_000)
afterAll(() => harness.close())

const everything = 'projects:read projects:write'
const tokenOf = (sub: string, team: string, scope = everything) => issuer.tokenFor({ sub, org_id: team, scope })

test('refuses callers without a token, and names the authorization server', async () => {
  const response = await fetch(url, { method: 'POST' })
  expect(response.status).toBe(401)
  const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url))
  expect(await metadata.json()).toMatchObject({ authorization_servers: [issuer.issuer] })
})

test('refuses a token without a team', async () => {
  const token = issuer.tokenFor({ sub: 'ada', scope: everything })
  for (const revision of ['2025-11-25', '2026-07-28']) {
    await expect(connect(url, { revision, token })).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('no claim "org_id"'),
    })
  }
})

test('a team sees its own projects only', async () => {
  const acme = await connect(url, { revision: '2025-11-25', token: tokenOf('ada', 'acme') })
  const other = await connect(url, { revision: '2026-07-28', token: tokenOf('bob', 'other') })
  await acme.callTool('create_project', { id: 'rocket', title: 'Rocket' })
  expect((await acme.request('resources/list')).resources).toMatchObject([{ uri: 'project://rocket' }])
  expect((await other.request('resources/list')).resources).toEqual([])
  await expect(other.request('resources/read', { uri: 'project://rocket' })).rejects.toThrow()
  await acme.close()
  await other.close()
})

test.each(['2025-11-25', '2026-07-28'] as const)('asks a client of %s before it deletes', async (revision) => {
  const token = tokenOf('ada', 'acme')
  const answers = { elicit: () => ({ action: 'accept' as const, content: { delete: isSure } }) }
  const client = await connect(url, { revision, token, answers })
  await client.callTool('create_project', { id: revision, title: 'Draft' })
  let isSure = false
  expect((await client.callTool('delete_project', { id: revision })).content).toMatchObject([
    { text: 'The project was not deleted.' },
  ])
  isSure = true
  expect((await client.callTool('delete_project', { id: revision })).content).toMatchObject([
    { text: 'Deleted "Draft".' },
  ])
  await client.close()
})

test('a token without the scope cannot write', async () => {
  const client = await connect(url, { revision: '2026-07-28', token: tokenOf('eve', 'acme', 'projects:read') })
  await expect(client.callTool('create_project', { id: 'x', title: 'X' })).rejects.toThrow()
  await client.close()
})
