import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type ConnectOptions, connect, everyRevision, type TestClient } from '../../worker/testing/index.ts'
import { sample } from '../support/full.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/stateful')
})
afterAll(() => server[Symbol.asyncDispose]())

const clients: TestClient[] = []
afterAll(() => Promise.all(clients.map((client) => client.close())))

async function as(token: string, options: Partial<ConnectOptions> = {}): Promise<TestClient> {
  const client = await connect(server.url, { revision: '2025-11-25', token, ...options })
  clients.push(client)
  return client
}

const text = async (client: TestClient, tool: string, args?: object) => {
  const { content } = await client.callTool(tool, { ...args })
  return (content[0] as { text: string } | undefined)?.text
}
const someone = () => `user_${crypto.randomUUID().replaceAll('-', '')}`
const objects = () => server.harness.getWorker().listDurableObjectIds('McpState')

describe.each(sample(everyRevision, 2).map((revision) => [revision]))('in %s', (revision) => {
  const sse = revision === '2024-11-05'

  test('a user reads stored state with every client and protocol version', async () => {
    const [ada, bob] = [someone(), someone()]
    expect(await text(await as(ada, { revision, sse }), 'add_to_user', { item: 'milk' })).toBe('1')
    for (const other of everyRevision) {
      const client = await as(ada, { revision: other })
      expect(await text(client, 'all_of_user')).toMatch(/^milk/)
      await text(client, 'add_to_user', { item: other })
    }
    expect(await text(await as(ada, { revision, sse }), 'all_of_user')).toBe(['milk', ...everyRevision].join())
    expect(await text(await as(bob, { revision, sse }), 'all_of_user')).toBe('')
  })

  test('a state per tenant is shared by the users of the tenant only', async () => {
    const tenant = someone()
    expect(await text(await as(`ada@${tenant}`, { revision, sse }), 'add_to_tenant', { item: 'milk' })).toBe('1')
    expect(await text(await as(`bob@${tenant}`, { revision, sse }), 'all_of_tenant')).toBe('milk')
    expect(await text(await as(`ada@other${tenant}`, { revision, sse }), 'all_of_tenant')).toBe('')
    await expect((await as('ada', { revision, sse })).callTool('all_of_tenant')).rejects.toThrow(
      'The state "tenant_list" is not available: the principal has no tenant',
    )
  })

  test('a user of several tenants has a separate state in each tenant, and without a tenant', async () => {
    const [ada, tenant] = [someone(), someone()]
    const [inOne, inOther, alone] = [`${ada}@${tenant}`, `${ada}@other${tenant}`, ada]
    expect(await text(await as(inOne, { revision, sse }), 'add_to_user', { item: 'milk' })).toBe('1')
    expect(await text(await as(inOther, { revision, sse }), 'all_of_user')).toBe('')
    expect(await text(await as(alone, { revision, sse }), 'all_of_user')).toBe('')
    await text(await as(inOther, { revision, sse }), 'forget_user')
    expect(await text(await as(inOne, { revision, sse }), 'all_of_user')).toBe('milk')
  })

  test('a handle opens the same state in every session', async () => {
    const ada = someone()
    const handle = await text(await as(ada, { revision, sse }), 'new_basket')
    for (const [index, other] of everyRevision.entries()) {
      expect(await text(await as(ada, { revision: other }), 'add_to_basket', { handle, item: other })).toBe(
        `${index + 1}`,
      )
    }
    const client = await as(ada, { revision, sse })
    expect(await text(client, 'all_of_basket', { handle })).toBe(everyRevision.join())
    const { contents } = await client.request('resources/read', { uri: `basket://${handle}` })
    expect(contents).toMatchObject([{ text: everyRevision.join() }])
    expect(await text(client, 'all_of_basket', { handle: await text(client, 'new_basket') })).toBe('')
  })

  test('an invalid handle always causes the same error, and wakes no object', async () => {
    const [ada, eve] = [await as(someone(), { revision, sse }), await as(someone(), { revision, sse })]
    const handle = (await text(ada, 'new_basket')) as string
    expect(handle).toMatch(/^[\w-]{39}$/)
    await text(ada, 'add_to_basket', { handle, item: 'milk' })
    const before = await objects()
    const answers = new Set<string>()
    for (const foreign of [
      handle,
      'made up',
      '',
      `${handle}x`,
      handle.slice(0, 22).padEnd(39, 'A'),
      (await text(eve, 'new_short')) as string,
    ]) {
      for (const tool of ['add_to_basket', 'all_of_basket', 'forget_basket']) {
        answers.add(JSON.stringify(await eve.callTool(tool, { handle: foreign, item: 'poison' })))
      }
    }
    expect([...answers]).toHaveLength(1)
    expect([...answers][0]).toContain('This handle of the state \\"basket\\" is unknown or expired: get a new one')
    expect([...answers][0]).toContain('"isError":true')
    await expect(eve.request('resources/read', { uri: `basket://${handle}` })).rejects.toMatchObject({
      code: -32602,
      message: 'This handle of the state "basket" is unknown or expired: get a new one',
    })
    expect(await objects()).toEqual(before)
    expect(await text(ada, 'all_of_basket', { handle })).toBe('milk')
  })

  test('a deleted handle is unknown', async () => {
    const client = await as(someone(), { revision, sse })
    const handle = await text(client, 'new_basket')
    await text(client, 'add_to_basket', { handle, item: 'milk' })
    await text(client, 'forget_basket', { handle })
    expect(await text(client, 'all_of_basket', { handle })).toContain('unknown or expired')
  })

  test('an operation is atomic', async () => {
    const client = await as(someone(), { revision, sse })
    expect(await text(client, 'move', { amounts: [5, -2] })).toBe('3')
    await expect(client.callTool('move', { amounts: [1, -9] })).rejects.toMatchObject({
      code: -32602,
      message: 'Not enough',
      data: { balance: 'too low' },
    })
    expect(await text(client, 'entries')).toBe('[5,-2]')
    expect(await text(client, 'move', { amounts: [1] })).toBe('4')
  })

  test('a state without operations stores values by key', async () => {
    const client = await as(someone(), { revision, sse })
    expect(await text(client, 'prefer', { theme: 'dark' })).toBe('[["theme","dark"]]')
    expect(await text(client, 'prefer', { theme: 'light' })).toBe('[["theme","light"]]')
  })

  test('the state of a user can be deleted', async () => {
    const client = await as(someone(), { revision, sse })
    await text(client, 'add_to_user', { item: 'milk' })
    await text(client, 'forget_user')
    expect(await text(client, 'all_of_user')).toBe('')
    expect(await text(client, 'add_to_user', { item: 'tea' })).toBe('1')
  })
})

describe('state of a session', () => {
  test.each([
    ['2024-11-05', true],
    ['2025-03-26', false],
    ['2025-06-18', false],
    ['2025-11-25', false],
  ])('of %s belongs to one session', async (revision, sse) => {
    const ada = someone()
    const [one, two] = [await as(ada, { revision, sse }), await as(ada, { revision, sse })]
    expect(await text(one, 'add_to_session', { item: 'milk' })).toBe('1')
    expect(await text(one, 'add_to_session', { item: 'tea' })).toBe('2')
    expect(await text(one, 'all_of_session')).toBe('milk,tea')
    expect(await text(two, 'all_of_session')).toBe('')
  })

  test('is an error without a session, which names the alternatives', async () => {
    const client = await as(someone(), { revision: '2026-07-28' })
    await expect(client.callTool('all_of_session')).rejects.toMatchObject({
      code: -32603,
      message:
        'The state "session_list" is not available: this client has no session: ' +
        'use per: "user", or per: "handle" and pass the handle around',
    })
  })

  test.each([
    ['its client ends the session', false],
    ['the session expires', true],
  ])('is deleted when %s', async (_, lapses) => {
    const before = new Set(await objects())
    const client = await connect(server.url, { revision: '2025-11-25', token: someone() })
    await text(client, 'add_to_session', { item: 'milk' })
    const [added] = (await objects()).filter((id) => !before.has(id))
    const rows = async () => {
      const storage = await server.harness.getWorker().getDurableObjectStorage('McpState', { id: added as string })
      return storage.exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '_cf_KV'")
    }
    expect(await rows()).toHaveLength(1)
    if (!lapses) await client.close()
    await vi.waitFor(async () => expect(await rows()).toEqual([]), { interval: 100 })
    if (lapses) expect(await text(client, 'all_of_session')).toBe('')
  })
})

describe('a handle', () => {
  test('remains valid after its session ends', async () => {
    const ada = someone()
    const first = await connect(server.url, { revision: '2025-11-25', token: ada })
    const handle = await text(first, 'new_basket')
    await text(first, 'add_to_basket', { handle, item: 'milk' })
    await first.close()
    expect(await text(await as(ada), 'all_of_basket', { handle })).toBe('milk')
  })

  test('expires after its ttl', async () => {
    const client = await as(someone(), { revision: '2026-07-28' })
    const handle = await text(client, 'new_short')
    expect(await text(client, 'add_to_short', { handle, item: 'milk' })).toBe('1')
    await vi.waitFor(
      async () => expect(await text(client, 'all_of_short', { handle })).toContain('unknown or expired'),
      {
        interval: 100,
      },
    )
  })
})

test('an effect in ctx.once runs once in all rounds', async () => {
  for (const revision of ['2025-11-25', '2026-07-28']) {
    const ada = someone()
    const client = await as(ada, {
      revision,
      answers: { elicit: () => ({ action: 'accept', content: { sure: true } }) },
    })
    expect(await text(client, 'buy', { item: 'milk' })).toBe('1 accept')
    expect(await text(client, 'all_of_user')).toBe('milk')
  }
})
