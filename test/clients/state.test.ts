import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Client as OldClient } from 'mcp-sdk-2025-03-26/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from 'mcp-sdk-2025-03-26/client/streamableHttp.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/stateful')
})
afterAll(() => server[Symbol.asyncDispose]())

type Caller = { call(name: string, args?: Record<string, unknown>): Promise<string> } & AsyncDisposable
type Sdk = {
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}

const caller = (sdk: Sdk): Caller => ({
  async call(name, args) {
    const { content } = (await sdk.callTool({ name, arguments: args })) as { content: { text: string }[] }
    return content[0]?.text as string
  },
  [Symbol.asyncDispose]: () => sdk.close(),
})

const info = { name: 'test', version: '1' }
const signedIn = (token: string) => ({ requestInit: { headers: { Authorization: `Bearer ${token}` } } })

const generations: Record<string, (token: string) => Promise<Caller>> = {
  async '2026-07-28'(token) {
    const client = new Client(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    await client.connect(new StreamableHTTPClientTransport(server.url, signedIn(token)))
    return caller(client)
  },
  async '2025-11-25'(token) {
    const client = new Client1(info)
    await client.connect(new Transport1(server.url, signedIn(token)))
    return caller(client)
  },
  async '2025-03-26'(token) {
    const client = new OldClient(info)
    await client.connect(new OldTransport(server.url, signedIn(token)))
    return caller(client)
  },
}

for (const [one, connectOne] of Object.entries(generations)) {
  for (const [other, connectOther] of Object.entries(generations)) {
    if (one === other) continue
    test(`a client of ${other} sees what its user changed with a client of ${one}, and that of another user does not`, async () => {
      const ada = `ada${one}and${other}`.replaceAll('-', '_')
      await using first = await connectOne(ada)
      await using second = await connectOther(ada)
      await using third = await connectOther(`not_${ada}`)
      expect(await first.call('add_to_user', { item: 'milk' })).toBe('1')
      expect(await second.call('add_to_user', { item: 'tea' })).toBe('2')
      expect(await first.call('all_of_user')).toBe('milk,tea')
      expect(await third.call('all_of_user')).toBe('')

      const handle = await first.call('new_basket')
      await first.call('add_to_basket', { handle, item: 'bread' })
      expect(await second.call('all_of_basket', { handle })).toBe('bread')
      expect(await third.call('all_of_basket', { handle })).toContain('unknown or expired')
    })
  }
}
