import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect } from 'edgemcp/testing'
import { startProvider, startServer } from 'edgemcp/testing/node'

test('a user signs in with GitHub, and allows to read only', async () => {
  const provider = await startProvider({ users: [{ id: 1815, login: 'ada', name: 'Ada Lovelace' }] })
  const { url, clientId, clientSecret } = provider
  const vars = { GITHUB_URL: url, GITHUB_API: `${url}/api/v3`, GITHUB_ID: clientId, GITHUB_SECRET: clientSecret }
  const server = await startServer({ config: 'examples/github/wrangler.toml', vars })
  const token = provider.tokenFor('ada', { scopes: ['github:read'] })
  const client = await connect(server, { revision: '2026-07-28', token })
  assert.match(JSON.stringify(await client.callTool('whoami')), /Ada Lovelace/)
  const issue = { repository: 'ada/notes', title: 'A bug' }
  await assert.rejects(client.callTool('create_issue', issue), { status: 403 })
  await client.close()
  await server.close()
  await provider.close()
})
