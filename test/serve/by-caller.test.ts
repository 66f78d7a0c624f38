/** What depends on the caller: visibility, instructions, lists, completions, and the HTTP request that handlers get. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { type ControlledServer, startControlled } from '../support/objects.ts'
import { statelessHeaders } from '../support/stateless.ts'

let server: ControlledServer
beforeAll(async () => {
  server = await startControlled('test/serve/by-caller')
})
afterAll(() => server[Symbol.asyncDispose]())

const eras = [
  ['2026-07-28', false],
  ['2025-11-25', false],
  ['2025-11-25', true],
] as const
const contentOf = ({ content }: { content: unknown }) => (content as { text: string }[])[0]?.text ?? ''
const tokenOf = (sub: string, scope = '') => btoa(JSON.stringify({ iss: 'https://issuer.example', sub, scope }))

describe.each(eras)('for a client of %s (HTTP+SSE: %s)', (revision, sse) => {
  type Options = Partial<Parameters<typeof connect>[1]>
  /** @param sent headers of each request, which a test can change */
  const connected = (sent: Record<string, string> = {}, options: Options = {}): Promise<TestClient> =>
    connect(server, { revision, sse, headers: sent, ...options })
  const namesOf = async (client: TestClient, list = 'tools', name = 'name') => {
    const { [list]: entries } = await client.request(
      list === 'resourceTemplates' ? 'resources/templates/list' : `${list}/list`,
    )
    return (entries as Record<string, string>[]).map((entry) => entry[name])
  }

  test('lists and calls tools that need a feature of the client only if it has the feature', async () => {
    await using without = await connected()
    expect(await namesOf(without)).not.toContain('ask')
    await expect(without.callTool('ask')).rejects.toThrow('Unknown tool: ask')
    const accepts = { elicit: () => ({ action: 'accept', content: {} }) }
    await using capable = await connected({}, { answers: accepts })
    expect(await namesOf(capable)).toContain('ask')
    expect(await namesOf(capable)).not.toContain('sample')
    expect(contentOf(await capable.callTool('ask'))).toBe('accept')
  })

  test('lists tools by the name of the client and by its protocol version', async () => {
    await using other = await connected()
    await using named = await connected({}, { name: 'named' })
    expect([(await namesOf(other)).includes('named'), (await namesOf(named)).includes('named')]).toEqual([false, true])
    expect((await namesOf(other)).includes('old')).toBe(revision < '2026')
  })

  test('lists and serves entries by the request context, and those of mounted servers', async () => {
    await using free = await connected({ 'X-Plan': 'free' })
    expect(await namesOf(free)).not.toContain('pro')
    expect(await namesOf(free)).not.toContain('part_pro')
    await expect(free.callTool('part_pro')).rejects.toThrow('Unknown tool: part_pro')
    expect(await namesOf(free, 'prompts')).toEqual([])
    expect(await namesOf(free, 'resources', 'uri')).not.toContain('pro://fixed')
    await expect(free.request('prompts/get', { name: 'pro' })).rejects.toThrow('Unknown prompt: pro')
    await expect(free.request('resources/read', { uri: 'pro://fixed' })).rejects.toThrow('pro://fixed')
    await using pro = await connected({ 'X-Plan': 'pro' })
    expect(await namesOf(pro)).toEqual(expect.arrayContaining(['pro', 'part_pro']))
    expect(contentOf(await pro.callTool('part_pro'))).toBe('pro')
    expect(await namesOf(pro, 'prompts')).toEqual(['pro'])
    expect(await namesOf(pro, 'resources', 'uri')).toContain('pro://fixed')
    expect(await pro.request('prompts/get', { name: 'pro' })).toMatchObject({ messages: [{}] })
    expect(await pro.request('resources/read', { uri: 'pro://fixed' })).toMatchObject({ contents: [{}] })
    const ref = { type: 'ref/prompt', name: 'pro' }
    const argument = { name: 'x', value: '' }
    await expect(pro.request('completion/complete', { ref, argument })).rejects.toThrow('has no argument "x"')
    await expect(free.request('completion/complete', { ref, argument })).rejects.toThrow('Unknown prompt: pro')
  })

  test('lists tools by a header of the request', async () => {
    const sent: Record<string, string> = {}
    await using client = await connected(sent)
    expect(await namesOf(client)).not.toContain('beta')
    sent['X-Beta'] = 'yes'
    expect(await namesOf(client)).toContain('beta')
  })

  test('subscribes to resources that the request context shows', async () => {
    await using pro = await connected({ 'X-Plan': 'pro' })
    await using free = await connected({ 'X-Plan': 'free' })
    await using _subscription = await disposable(pro.subscribe({ resourceSubscriptions: ['pro://fixed'] }))
    if (revision < '2026') {
      await expect(free.subscribe({ resourceSubscriptions: ['pro://fixed'] })).rejects.toThrow('pro://fixed')
      return
    }
    await using _other = await disposable(free.subscribe({ resourceSubscriptions: ['pro://fixed'] }))
    const acknowledged = (client: TestClient) => client.next('notifications/subscriptions/acknowledged')
    expect(await acknowledged(pro)).toMatchObject({
      params: { notifications: { resourceSubscriptions: ['pro://fixed'] } },
    })
    expect(await acknowledged(free)).toMatchObject({ params: { notifications: { resourceSubscriptions: [] } } })
  })

  test('lists and validates the schema of the caller', async () => {
    const schemaOf = async (client: TestClient, tool = 'export') => {
      const { tools } = await client.request('tools/list')
      return (tools as { name: string; inputSchema: object }[]).find(({ name }) => name === tool)?.inputSchema
    }
    await using free = await connected({ 'X-Plan': 'free' })
    await using pro = await connected({ 'X-Plan': 'pro' })
    expect(await schemaOf(free)).toEqual({
      type: 'object',
      properties: { format: { enum: ['csv'] } },
      required: ['format'],
    })
    expect(await schemaOf(pro)).toMatchObject({
      properties: { format: { enum: ['csv', 'xlsx'] }, pages: { type: 'number' } },
    })
    expect(contentOf(await free.callTool('export', { format: 'csv' }))).toBe('{"format":"csv"}')
    expect(contentOf(await pro.callTool('export', { format: 'xlsx' }))).toBe('{"format":"xlsx","pages":1}')
    const refused = await free.callTool('export', { format: 'xlsx' })
    expect(refused).toMatchObject({ isError: true })
    expect(contentOf(refused)).toMatch(/^Invalid arguments for export: format: /)
    // A schema that is a function itself is no function of the caller.
    expect(await schemaOf(free, 'callable')).toMatchObject({ properties: { word: { type: 'string' } } })
    expect(contentOf(await free.callTool('callable', { word: 'yes' }))).toBe('yes')
    if (revision >= '2026') expect(await free.request('tools/list')).toMatchObject({ cacheScope: 'private' })
  })

  test('is not listed a tool with a schema that tools cannot have, and the server reports the schema', async () => {
    await using client = await connected({ 'X-Plan': 'wrong' })
    const { tools } = await client.request('tools/list')
    const names = (tools as { name: string }[]).map(({ name }) => name) // of a list of tools
    expect(names).toContain('compiled')
    expect(names).not.toContain('export')
    const logged = () => server.harness.getLogs().map(({ message }) => message)
    await expect
      .poll(logged)
      .toContainEqual(expect.stringContaining('The inputSchema of tool "export" must be an object schema'))
  })

  test('challenges for scopes of a hidden entry only callers who see the entry', async () => {
    const Authorization = `Bearer ${tokenOf('ada')}`
    await using free = await connected({ 'X-Plan': 'free', Authorization })
    await expect(free.callTool('secured')).rejects.toThrow('Unknown tool: secured')
    await using pro = await connected({ 'X-Plan': 'pro', Authorization })
    await expect(pro.callTool('secured')).rejects.toThrow('Requires the scopes admin')
  })

  test('gets its own instructions', async () => {
    const Authorization = `Bearer ${tokenOf('ada')}`
    await using client = await connected({ 'X-Plan': 'pro', Authorization }, { name: 'reader' })
    expect(client.initializeResult).toMatchObject({ instructions: `ada reader ${revision} pro POST` })
    if (revision >= '2026') expect(client.initializeResult).toMatchObject({ cacheScope: 'private', ttlMs: 1000 })
  })

  test('gives functions of resources the state, the session and the signal of the caller', async () => {
    await using ada = await connected({ Authorization: `Bearer ${tokenOf(`ada ${revision} ${sse}`)}` })
    await using bob = await connected({ Authorization: `Bearer ${tokenOf(`bob ${revision} ${sse}`)}` })
    await ada.callTool('add_note', { id: '1' })
    const session = revision < '2026' ? 'one' : 'none'
    const listed = `session://edgemcp-testing%20${session}`
    expect(await namesOf(ada, 'resources', 'uri')).toEqual(['note://1', listed])
    expect(await namesOf(bob, 'resources', 'uri')).toEqual([listed])
    expect(await ada.request('resources/read', { uri: 'note://1' })).toMatchObject({ contents: [{ text: 'Note 1' }] })
    await expect(bob.request('resources/read', { uri: 'note://1' })).rejects.toThrow('note://1')
    const completion = { ref: { type: 'ref/resource', uri: 'note://{id}' }, argument: { name: 'id', value: '' } }
    expect(await ada.request('completion/complete', completion)).toMatchObject({ completion: { values: ['1'] } })
    expect(await bob.request('completion/complete', completion)).toMatchObject({ completion: { values: [] } })
    const unfiltered = { ...completion, ref: { type: 'ref/resource', uri: 'unfiltered://{id}' } }
    expect(await bob.request('completion/complete', unfiltered)).toMatchObject({
      completion: { values: ['unreadable'] },
    })
    await using _subscription = await disposable(ada.subscribe({ resourceSubscriptions: ['note://1'] }))
    if (revision < '2026') {
      await expect(bob.subscribe({ resourceSubscriptions: ['note://1'] })).rejects.toThrow('note://1')
    }
  })

  test('gives handlers the HTTP request', async () => {
    const header = 'first: é, "b"'
    // As the bytes of UTF-8.
    const sent = { 'X-Test': Buffer.from(header).toString('latin1'), 'X-Plan': 'pro', 'CF-Connecting-IP': '192.0.2.1' }
    await using client = await connected(sent)
    const request = { method: 'POST', path: sse ? '/messages' : '/mcp', header, address: expect.any(String) }
    expect(JSON.parse(contentOf(await client.callTool('request')))).toEqual({ request, plan: 'pro' })
  })

  test('gives handlers the HTTP request of the answer after an input request', async () => {
    const sent = { 'X-Test': 'question' }
    const elicit = () => {
      sent['X-Test'] = 'answer'
      return { action: 'accept', content: {} }
    }
    await using client = await connected(sent, { answers: { elicit } })
    expect(JSON.parse(contentOf(await client.callTool('request_after')))).toMatchObject({ header: 'answer' })
  })
})

/** Closes a subscription at the end of a block. */
async function disposable(opening: Promise<{ close(): Promise<void> }>) {
  const subscription = await opening
  return { [Symbol.asyncDispose]: () => subscription.close() }
}

test.each([
  ['2025-11-25', 'Requires the scopes admin'],
  ['2025-06-18', 'Unknown tool: secured_old'],
])('without a session, the header says which version %s the caller has', async (version, problem) => {
  const response = await fetch(server.url, {
    method: 'POST',
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      'MCP-Protocol-Version': version,
      Authorization: `Bearer ${tokenOf('ada')}`,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'secured_old' } }),
  })
  expect(await response.text()).toContain(problem)
})

test('over HTTP+SSE, the caller does not have the version of a request that states none', async () => {
  const headers = { Authorization: `Bearer ${tokenOf('ada')}` }
  await using client = await connect(server, { revision: '2025-03-26', headers })
  await expect(client.callTool('secured_default')).rejects.toThrow('Requires the scopes admin')
  await using overSse = await connect(server, { revision: '2024-11-05', sse: true, headers })
  await expect(overSse.callTool('secured_default')).rejects.toThrow('Unknown tool: secured_default')
})

test('a schema of callers is compiled once in each isolate', async () => {
  await using client = await connect(server, { revision: '2026-07-28' })
  const count = async () => Number(contentOf(await client.callTool('compiled')))
  await client.callTool('export', { format: 'csv' })
  const before = await count()
  await client.callTool('export', { format: 'csv' })
  await client.request('tools/list')
  expect([before > 0, await count()]).toEqual([true, before])
})

test('headers repeat the parameters of a tool only if the caller sees the tool', async () => {
  const protocol = 'io.modelcontextprotocol'
  const call = async (plan: string, name = 'mirrored', headers: object = {}) => {
    const response = await fetch(server.url, {
      method: 'POST',
      headers: { ...statelessHeaders('tools/call', name), 'X-Plan': plan, ...headers },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name,
          arguments: { region: 'eu', format: 'csv' },
          _meta: { [`${protocol}/protocolVersion`]: '2026-07-28', [`${protocol}/clientCapabilities`]: {} },
        },
      }),
    })
    const { error, result } = JSON.parse(await response.text())
    return error?.message ?? result.content[0].text
  }
  expect(await call('pro')).toBe('Missing header Mcp-Param-Region')
  expect(await call('free')).toBe('Unknown tool: mirrored')
  expect(await call('header', 'export')).toBe('Missing header Mcp-Param-Format')
  expect(await call('header', 'export', { 'Mcp-Param-Format': 'csv' })).toBe('{"region":"eu","format":"csv"}')
  expect(await call('free', 'export')).toBe('{"format":"csv"}')
})
