import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
let bare: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/reported')
  bare = await startServer('test/serve/bare')
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await bare[Symbol.asyncDispose]()
})

const logged = (of: TestServer, text: string) => of.harness.getLogs().filter(({ message }) => message.includes(text))

describe.each(['2026-07-28', '2025-11-25'])('an internal error of a client of %s is logged once', (revision) => {
  test.each<[method: string, params: Record<string, string>, text: string]>([
    ['tools/call', { name: 'failing' }, 'failing tool failed'],
    ['prompts/get', { name: 'failing' }, 'failing prompt failed'],
    ['resources/read', { uri: 'fail://ing' }, 'failing resource failed'],
    ['prompts/get', { name: 'wrong' }, 'returned a symbol'],
    ['resources/read', { uri: 'wrong://it' }, 'returned a symbol'],
  ])('%s %o', async (method, params, text) => {
    server.harness.clearLogs()
    const client = await connect(server.url, { revision })
    await expect(client.request(method, params)).rejects.toThrow()
    await expect.poll(() => logged(server, text).length).toBe(1)
    await client.close()
    expect(logged(server, text)).toHaveLength(1)
  })
})

test('a request that needs a Durable Object class that is missing is logged once', async () => {
  bare.harness.clearLogs()
  const client = await connect(bare.url, { revision: '2026-07-28', answers: { elicit: () => ({ action: 'decline' }) } })
  const problem: Error = await client.callTool('ask').then(
    () => new Error('nothing was thrown'),
    (error) => error,
  )
  expect(problem.message).toContain('This Worker has no Durable Object McpSession')
  expect(problem.message).toContain('have sessions() in the plugins of serve(), export it from the main module')
  expect(problem.message).toContain('or set the secret EDGEMCP_KEYS')
  await expect.poll(() => logged(bare, 'has no Durable Object McpSession').length).toBe(1)
})
