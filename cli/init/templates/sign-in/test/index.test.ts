import { connect } from 'edgemcp/testing'
import { startProvider } from 'edgemcp/testing/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'

const provider = await startProvider({
  users: [
    { id: 1815, login: 'ada', organizations: ['acme'] },
    { id: 1906, login: 'grace', organizations: ['acme', 'globex'] },
    { id: 666, login: 'eve' },
  ],
})
const vars = {
  GITHUB_URL: provider.url,
  GITHUB_ID: provider.clientId,
  GITHUB_SECRET: provider.clientSecret,
  ORGANIZATIONS: 'acme globex',
}
const harness = createTestHarness({ workers: [{ configPath: 'wrangler.toml', vars }] })
let url: URL

beforeAll(async () => {
  url = new URL('/mcp', (await harness.listen()).url)
}, 60_000)
afterAll(async () => {
  await harness.close()
  await provider.close()
})

const textOf = ({ content }: { content: unknown[] }) => (content[0] as { text: string }).text

test.each(['2025-11-25', '2026-07-28'] as const)('members of an organization share its list, %s', async (revision) => {
  const ada = await connect(url, { revision, token: provider.tokenFor('ada') })
  await ada.callTool('add_item', { item: 'tea' })
  const grace = await connect(url, { revision, token: provider.tokenFor('grace', { tenant: 'acme' }) })
  expect(textOf(await grace.callTool('list_items'))).toBe('tea (ada)')
  await ada.close()
  await grace.close()
})

test('another organization has a list of its own', async () => {
  const grace = await connect(url, { revision: '2026-07-28', token: provider.tokenFor('grace', { tenant: 'globex' }) })
  expect(textOf(await grace.callTool('list_items'))).toBe('The list is empty.')
  await grace.close()
})

test('a user of no organization may not sign in', async () => {
  const token = provider.tokenFor('eve')
  await expect(connect(url, { revision: '2026-07-28', token })).rejects.toThrow(
    'You are not a member of acme or globex',
  )
})

test('a user may allow to read only', async () => {
  const token = provider.tokenFor('ada', { scopes: ['list:read'] })
  const ada = await connect(url, { revision: '2026-07-28', token })
  await expect(ada.callTool('add_item', { item: 'milk' })).rejects.toMatchObject({ status: 403 })
  await ada.close()
})
