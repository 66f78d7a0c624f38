/** What is declared after serve() was called is held to the same rules as what was there before. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { logText, startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/auth/late')
})
afterAll(() => server[Symbol.asyncDispose]())

const ada = (name: string) => connect(new URL(`/${name}/mcp`, server.url), { revision: '2026-07-28', token: 'ada' })

test('requireScopesEverywhere refuses every request when a tool without scopes is declared after serve()', async () => {
  const call = async (tool: string) => {
    await using client = await ada('strict')
    return await client.callTool(tool)
  }
  for (const tool of ['forgotten', 'scoped']) await expect(call(tool)).rejects.toMatchObject({ status: 500 })
  await expect
    .poll(() => logText(server))
    .toContain(
      'These entries have no scopes: the tool "forgotten". Give each its scopes, or scopes: [] for every caller that auth accepts',
    )
})

test('the rate limit of a tool that is declared after serve() applies', async () => {
  await using client = await ada('complete')
  expect(await client.callTool('scoped')).toMatchObject({ content: [{ text: 'done' }] })
  await expect(client.callTool('scoped')).rejects.toMatchObject({ status: 429 })
})
