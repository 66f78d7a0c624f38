import { expect, test } from 'vitest'
import { Approvals } from '../../worker/plugins/sign-in/approvals.ts'

const hour = 60 * 60_000
const site = { origin: 'https://mcp.example.com', identity: 'notes', resources: [], scopes: [] }
const seals = {
  seal: async (_: string, value: unknown) => btoa(JSON.stringify(value)),
  open: async (_: string, sealed: string) => JSON.parse(atob(sealed)),
}
const app = { clientId: 'app', redirectUri: 'https://app.example/callback', resource: undefined, scope: [] }

/** Returns the approvals of a browser whose user has approved the app for a tenant. */
async function approvedFor(tenant: string | undefined, at: number, rememberMs: number): Promise<Approvals> {
  const read = (cookie = '') =>
    Approvals.read(new Request(site.origin, { headers: { cookie } }), seals as never, site, rememberMs)
  const [cookie] = (await (await read()).cookieWith(app as never, 'company.1', tenant, at, 30 * 24 * hour)).split(';')
  return read(cookie)
}

test.each([
  ['engines', { tenant: 'engines' }, true],
  ['engines', { tenant: 'looms' }, false],
  ['engines', { tenant: undefined }, false],
  [undefined, { tenant: undefined }, true],
  ['engines', undefined, true],
])('an approval for the tenant %j counts for %j: %j', async (tenant, acting, counts) => {
  const at = Date.now()
  const approvals = await approvedFor(tenant, at, hour)
  expect(await approvals.timeOf(app as never, 'company.1', acting)).toBe(counts ? at : 0)
})

test('an approval counts no longer than approvals are remembered now', async () => {
  const at = Date.now() - 2 * hour
  expect(await (await approvedFor('engines', at, 3 * hour)).timeOf(app as never, 'company.1')).toBe(at)
  expect(await (await approvedFor('engines', at, hour)).timeOf(app as never, 'company.1')).toBe(0)
})
