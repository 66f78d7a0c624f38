import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect } from 'edgemcp/testing'
import { startIssuer, startServer } from 'edgemcp/testing/node'

test('a token gives its user the scopes that it has', async () => {
  const { issuer, tokenFor, close } = await startIssuer()
  const server = await startServer({ config: 'examples/protected/wrangler.toml', vars: { ISSUER: issuer } })
  const client = await connect(server, { revision: '2025-11-25', token: tokenFor({ sub: 'ada', scope: 'notes:read' }) })
  assert.match(JSON.stringify(await client.callTool('whoami')), /ada, who may notes:read/)
  await assert.rejects(client.callTool('write_note', { id: 'a', text: 'A' }), { status: 403 })
  await server.evict(client)
  assert.match(JSON.stringify(await client.callTool('whoami')), /ada/)
  await client.close()
  await server.close()
  await close()
})
