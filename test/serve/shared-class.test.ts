import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, everyRevision } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/shared-class')
})
afterAll(() => server[Symbol.asyncDispose]())

const ofAnotherServer =
  'The class McpSession belongs to the server "guarded", not to "open": give each server its own with durableObjects.names'

const inSession = everyRevision.slice(1)

describe('an endpoint whose session class belongs to another server', () => {
  test.each(inSession)(
    'does not run tools of the other server for a client of %s, and returns an error',
    async (revision) => {
      await using client = await connect(server.url, { revision })
      await expect(client.callTool('remove')).rejects.toThrow(ofAnotherServer)
      await expect(client.request('tools/list', {})).rejects.toThrow(ofAnotherServer)
    },
  )

  test('does not run tools of the other server over HTTP+SSE', async () => {
    const connecting = connect(server.url, { revision: '2024-11-05', sse: true })
    await expect(connecting).rejects.toThrow(ofAnotherServer)
  })

  test('serves stateless clients', async () => {
    await using client = await connect(server.url, { revision: everyRevision[0] as string })
    expect(await client.callTool('list')).toMatchObject({ content: [{ text: 'no notes' }] })
  })
})

test.each(everyRevision)(
  'the server of the session class serves its own endpoint to clients of %s',
  async (revision) => {
    await using client = await connect(new URL('/guarded/mcp', server.url), { revision })
    expect(await client.callTool('remove')).toMatchObject({ content: [{ text: 'removed' }] })
  },
)
