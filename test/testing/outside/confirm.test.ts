import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { connect, transcript } from 'edgemcp/testing'
import { type RunningServer, startServer } from 'edgemcp/testing/node'

let server: RunningServer
before(async () => {
  server = await startServer({ config: 'examples/confirm/wrangler.toml' })
})
after(() => server.close())

const sure = { action: 'accept', content: { sure: true } }

test('nothing is transferred without consent', async () => {
  const client = await connect(server, { revision: '2025-11-25', answers: { elicit: [{ action: 'decline' }] } })
  const { content } = await client.callTool('transfer', { to: 'Ada', amount: 5 })
  assert.deepEqual(content, [{ type: 'text', text: 'Nothing was transferred.' }])
  assert.deepEqual(client.unusedAnswers, [])
  await client.close()
})

test('a transfer survives eviction and a lost connection', async () => {
  const elicit = [
    async () => {
      await server.evict(client)
      return sure
    },
    async () => {
      await client.dropStream()
      return { action: 'decline' }
    },
  ]
  const client = await connect(server, { revision: '2025-11-25', answers: { elicit } })
  const { content } = await client.callTool('transfer', { to: 'Ada', amount: 5 })
  assert.match(JSON.stringify(content), /Transferred 5 to Ada/)
  await client.close()
})

test('the messages of a transfer', async () => {
  const wire = transcript()
  const answers = { elicit: [sure, { action: 'decline' }] }
  const client = await connect(server, { revision: '2025-06-18', answers, onMessage: wire.onMessage })
  await client.callTool('transfer', { to: 'Ada', amount: 5 })
  assert.equal(`${wire}`, readFileSync(new URL('transfer.txt', import.meta.url), 'utf8'))
  await client.close()
})

test('advance() without a test clock is an error', async () => {
  await assert.rejects(server.advance(1000), /edgemcp\/testing\/timed/)
})
