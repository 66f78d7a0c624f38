import { expect, vi } from 'vitest'
import { behaviour, withoutSessions, withServer } from '../support/behaviour.ts'

withServer()

const sessionless = { revisions: withoutSessions, because: 'it has no sessions' }

behaviour('the server describes itself with the members of the protocol version', async ({ connect, kind }) => {
  const { initializeResult } = await connect()
  const { revision } = kind
  expect(initializeResult.instructions).toBe('Call the tools.')
  const info = (
    revision >= '2026-07-28'
      ? (initializeResult._meta as Record<string, unknown>)['io.modelcontextprotocol/serverInfo']
      : initializeResult.serverInfo
  ) as Record<string, unknown>
  expect(info).toMatchObject({ name: 'everything', version: '1.0.0' })
  expect('title' in info).toBe(revision >= '2025-06-18')
  expect('icons' in info).toBe(revision >= '2025-11-25')
  if (revision >= '2026-07-28') expect(initializeResult.supportedVersions).toEqual(withoutSessions)
  else expect(initializeResult.protocolVersion).toBe(revision)
  expect(initializeResult.capabilities).toMatchObject({
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    logging: {},
  })
})

behaviour('unknown methods, and methods of other versions, are not found', async ({ connect, kind }) => {
  const client = await connect()
  const modern = kind.revision >= '2026-07-28'
  const foreign = modern
    ? ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']
    : ['server/discover', 'subscriptions/listen']
  for (const method of ['no/such', 'constructor', '__proto__', 'tasks/list', ...foreign]) {
    await expect(client.request(method)).rejects.toMatchObject({ code: -32601, status: modern ? 404 : 200 })
  }
})

behaviour(
  'a ping is answered',
  async ({ connect }) => {
    const client = await connect()
    expect(await client.request('ping')).toEqual({})
  },
  {
    ...sessionless,
    async instead({ connect }) {
      const client = await connect()
      await expect(client.request('ping')).rejects.toMatchObject({ code: -32601 })
    },
  },
)

behaviour(
  'each session has its own id, and ends when its client closes it',
  async ({ connect }) => {
    const [one, two] = [await connect(), await connect()]
    expect(one.session).toMatch(/^[\x21-\x7e]+$/)
    expect(one.session).not.toBe(two.session)
    await one.close()
    // Over HTTP+SSE the server learns that its client has gone by writing to it.
    await vi.waitFor(() => expect(one.request('ping')).rejects.toMatchObject({ status: 404 }))
    expect(await two.request('ping')).toEqual({})
  },
  {
    ...sessionless,
    async instead({ connect }) {
      const client = await connect()
      await client.close()
      expect(client.session).toBeUndefined()
      expect(await client.request('tools/call', { name: 'nothing' })).toMatchObject({ content: [] })
    },
  },
)

behaviour('concurrent calls of one client run in parallel', async ({ connect }) => {
  const client = await connect()
  const texts = Array.from({ length: 20 }, (_, index) => `call ${index}`)
  const results = await Promise.all(texts.map((text) => client.callTool('echo', { text })))
  expect(results.map(({ content }) => (content[0] as { text: string }).text)).toEqual(texts)
})

behaviour('a bad log level is refused', async ({ connect, kind }) => {
  const client = await connect()
  const refused =
    kind.revision >= '2026-07-28'
      ? connect({ logLevel: 'loud' as never })
      : client.request('logging/setLevel', { level: 'loud' })
  await expect(refused).rejects.toMatchObject({ code: -32602 })
})
