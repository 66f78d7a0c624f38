import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { logText, startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/results/server')
})
afterAll(() => server[Symbol.asyncDispose]())

type Block = { type: string; text: string; uri: string; mimeType: string; size: number; name: string }
type Contents = { uri: string; mimeType: string; text: string; blob: string }

const blocksOf = ({ content }: { content: unknown }) => content as Block[]
const linkIn = (result: { content: unknown }) => {
  const link = blocksOf(result).find(({ type }) => type === 'resource_link')
  if (!link) throw new Error(`no link in ${JSON.stringify(result).slice(0, 500)}`)
  return link
}
const read = async (client: TestClient, uri: string) =>
  (await client.request('resources/read', { uri })).contents as Contents[]
const keys = async (): Promise<{ key: string; size: number }[]> => (await fetch(new URL('/keys', server.url))).json()

/** Follows the URIs that each part names. */
async function readAll(client: TestClient, uri: string): Promise<string> {
  let whole = ''
  for (let next: string | undefined = uri; next; ) {
    const [part, more] = await read(client, next)
    whole += part?.text
    next = more?.uri
  }
  return whole
}

const logged = () => logText(server)

describe.each(['2026-07-28', '2025-11-25'])('%s', (revision) => {
  const as = (token?: string) => connect(server.url, { revision, ...(token && { token }) })
  const atGateway = (token: string) => connect(new URL('/gateway/mcp', server.url), { revision, token })

  test('a small result is sent as it is', async () => {
    await using client = await as()
    expect(blocksOf(await client.callTool('text', { size: 400 }))).toEqual([{ type: 'text', text: 'äbc'.repeat(100) }])
  })

  test('a large text becomes a preview and a link, which is read page by page', async () => {
    await using client = await as('ada')
    const result = await client.callTool('text', { size: 200_000 })
    const link = linkIn(result)
    expect(blocksOf(result)).toEqual([
      {
        type: 'text',
        text: `${'äbc'.repeat(7).slice(0, 20)}\n[The whole text has 200000 bytes: read the linked resource]`,
      },
      expect.objectContaining({ mimeType: 'text/plain', size: 200_000, name: 'Result of text' }),
    ])
    const [first, next] = await read(client, link.uri)
    // No character is cut.
    expect(first?.text).toMatch(/^(äbc)+ä?b?$/)
    expect(next).toMatchObject({ uri: `${link.uri}?offset=65536`, mimeType: 'text/plain' })
    expect(next?.text).toBe(`Bytes 0 to 65535 of 200000. Read this resource with offset=65536 for what follows.`)
    expect(await readAll(client, link.uri)).toBe('äbc'.repeat(50_000))
    expect(await readAll(client, `${link.uri}?offset=199996&length=3`)).toBe('äbc')
    expect((await read(client, `${link.uri}?offset=5&length=4`))[0]?.text).toBe('bc')
  })

  test('the largest blocks are stored until the rest fits', async () => {
    await using client = await as()
    const result = await client.callTool('blocks', { size: 30_000 })
    expect(blocksOf(result).map(({ type }) => type)).toEqual(['text', 'text', 'resource_link'])
    const [part, more] = await read(client, linkIn(result).uri)
    expect(more).toBeUndefined()
    expect(part).toMatchObject({ mimeType: 'image/png' })
    expect(Buffer.from(part?.blob ?? '', 'base64')).toEqual(Buffer.alloc(30_000, 7))
  })

  test('structured content stays if the tool has an output schema, and is stored otherwise', async () => {
    await using client = await as()
    const rows = await client.callTool('rows', { size: 20_000 })
    expect(rows.structuredContent).toEqual({ rows: ['r'.repeat(20_000)] })
    expect(await readAll(client, linkIn(rows).uri)).toBe(JSON.stringify(rows.structuredContent))
    const data = await client.callTool('data', { size: 20_000 })
    expect(data.structuredContent).toBeUndefined()
    expect(linkIn(data).mimeType).toBe('application/json')
    expect(JSON.parse(await readAll(client, linkIn(data).uri))).toEqual({ data: 'd'.repeat(20_000) })
  })

  test.each([
    ['ada', 'bob'],
    ['ada', undefined],
    [undefined, 'ada'],
  ])('a result of %s is unknown to %s', async (owner, other) => {
    await using client = await as(owner)
    await using stranger = await as(other)
    const { uri } = linkIn(await client.callTool('text', { size: 20_000 }))
    expect(await read(client, uri)).toHaveLength(1)
    await expect(read(stranger, uri)).rejects.toThrow(`Resource not found: ${uri}`)
  })

  test('a result of a tool with scopes needs them', async () => {
    await using client = await as('ada:secrets')
    await using weaker = await as('ada')
    const { uri } = linkIn(await client.callTool('secret', { size: 20_000 }))
    expect(await read(client, uri)).toHaveLength(1)
    await expect(read(weaker, uri)).rejects.toThrow('Resource not found')
  })

  test.each([
    ['a proxied tool', 'up_text'],
    ['a tool that an interceptor calls instead', 'alias'],
    ['a tool of the gateway itself', 'own'],
  ])('a result of %s needs the scopes of the tool', async (_, name) => {
    await using client = await atGateway('ada:secrets')
    await using weaker = await atGateway('ada')
    const { uri } = linkIn(await client.callTool(name, { size: 20_000 }))
    expect(await read(client, uri)).toHaveLength(1)
    await expect(weaker.callTool(name, { size: 20_000 })).rejects.toMatchObject({ status: 403 })
    await expect(read(weaker, uri)).rejects.toThrow('Resource not found')
  })

  test.each(['first', 'second'])('a result that the %s upstream stores is read through the proxy', async (name) => {
    await using client = await atGateway('ada')
    // Below the limit of the gateway after the upstream has stored it.
    const { uri } = linkIn(await client.callTool(`${name}_text`, { size: 100_000 }))
    expect(uri).toMatch(new RegExp(`^result://${name}_[0-9a-f]{32}$`))
    expect(await readAll(client, uri)).toHaveLength(75_000)
    await expect(read(client, uri.replace(`${name}_`, ''))).rejects.toThrow('Resource not found')
  })

  test('structured content of a proxied tool stays: it may have an output schema', async () => {
    await using client = await atGateway('ada')
    const rows = await client.callTool('up_rows', { size: 20_000 })
    expect(rows.structuredContent).toEqual({ rows: ['r'.repeat(20_000)] })
    expect(await readAll(client, linkIn(rows).uri)).toBe(JSON.stringify(rows.structuredContent))
  })

  test.each([
    ['result://00000000000000000000000000000000', /^Resource not found/],
    ['result://nothing', /^Resource not found/],
    ['result://..%2f..%2fother', /must not contain ".."/],
  ])('%s is rejected', async (uri, message) => {
    await using client = await as('ada')
    await expect(read(client, uri)).rejects.toThrow(message)
  })

  test.each(['offset=-1', 'offset=x', 'length=0', 'length=1048577', 'offset=20001', 'offset=1&length=1e3'])(
    'the range %s is an error that says what is accepted',
    async (query) => {
      await using client = await as('ada')
      const { uri } = linkIn(await client.callTool('text', { size: 20_000 }))
      await expect(read(client, `${uri}?${query}`)).rejects.toMatchObject({
        code: -32602,
        message: expect.stringMatching(/must be a whole number|offset must be at most that, and length 1 to 1048576/),
      })
    },
  )

  test('a text is never cut inside a character, however short the range is', async () => {
    await using client = await as()
    const whole = 'a€😀ä'.repeat(5)
    const { uri } = linkIn(await client.callTool('characters'))
    for (const length of [1, 2, 3, 4, 5]) {
      let text = ''
      for (let offset: string | undefined = '0'; offset; ) {
        const [part, more] = await read(client, `${uri}?offset=${offset}&length=${length}`)
        expect(part?.text).not.toBe('')
        text += part?.text
        offset = more && /offset=(\d+)/.exec(more.uri)?.[1]
      }
      expect(text).toBe(whole)
    }
    for (const offset of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
      const [part, more] = await read(client, `${uri}?offset=${offset}&length=1`)
      const next = Number(/offset=(\d+)/.exec(more?.uri ?? '')?.[1])
      expect(part?.text).not.toContain('\ufffd')
      expect(part?.text).toMatch(/^[a€😀ä]$/u)
      expect(more?.text).toContain(`Bytes ${next - new TextEncoder().encode(part?.text).length} to ${next - 1} of 50.`)
    }
  })

  test('a canceled call stops storing a stream, and leaves nothing in the bucket', async () => {
    await using client = await as('carl')
    const state = async () => JSON.parse(blocksOf(await client.callTool('streams'))[0]?.text ?? '')
    const before = { stored: (await keys()).length, ...(await state()) }
    const stop = new AbortController()
    const call = client.callTool('endless', {}, { signal: stop.signal })
    // More than one part of the upload.
    await expect.poll(async () => (await state()).pulled, { interval: 5 }).toBeGreaterThan(before.pulled + 9)
    stop.abort(new Error('Enough'))
    await expect(call).rejects.toThrow()
    await expect.poll(async () => (await state()).canceled, { interval: 5 }).toBe(before.canceled + 1)
    expect(await keys()).toHaveLength(before.stored)
  })

  test('a stream that fails cancels the others of its result, and leaves nothing of them in the bucket', async () => {
    await using client = await as('carl')
    const canceled = async () => JSON.parse(blocksOf(await client.callTool('streams'))[0]?.text ?? '').canceled
    const before = { stored: (await keys()).length, canceled: await canceled() }
    expect(await client.callTool('two')).toMatchObject({ isError: true, content: [{ text: 'the source fails' }] })
    expect(await canceled()).toBe(before.canceled + 1)
    expect(await keys()).toHaveLength(before.stored)
  })

  test.each(['APPLICATION/JSON', 'Text/Plain; charset=utf-8'])(
    'a media type may have capitals: %s',
    async (mimeType) => {
      await using client = await as()
      const { uri } = linkIn(await client.callTool('typed', { mimeType }))
      expect(await read(client, uri)).toEqual([{ uri, mimeType, text: '{"a":1}' }])
    },
  )

  test.each(['', 'text', 'text/plain\nX: y'])('the media type %j is an error', async (mimeType) => {
    await using client = await as()
    expect(await client.callTool('typed', { mimeType })).toMatchObject({
      isError: true,
      content: [
        {
          text: `"mimeType" of storedResult() must be a media type such as 'text/csv', not ${JSON.stringify(mimeType)}`,
        },
      ],
    })
  })

  test('structured content and its text are stored once', async () => {
    await using client = await as()
    const before = (await keys()).length
    const result = await client.callTool('only_data', { size: 20_000 })
    expect(blocksOf(result).map(({ type }) => type)).toEqual(['text', 'resource_link'])
    expect(result).not.toHaveProperty('structuredContent')
    expect(await keys()).toHaveLength(before + 1)
    expect(JSON.parse(await readAll(client, linkIn(result).uri))).toEqual({ data: 'd'.repeat(20_000) })
  })

  test('the template is listed', async () => {
    await using client = await as()
    const { resourceTemplates } = await client.request('resources/templates/list')
    expect(resourceTemplates).toMatchObject([{ uriTemplate: 'result://{id}{?offset,length}', name: 'result' }])
  })

  test('structured content of a proxied tool fits its listed output schema, which is no object schema', async () => {
    await using client = await atGateway('ada')
    const { structuredContent } = await client.callTool('up_either')
    const { tools } = await client.request('tools/list')
    const listed = (tools as { name: string; outputSchema?: { type?: string } }[]).find(
      ({ name }) => name === 'up_either',
    )
    const isWrapped = revision === '2025-11-25'
    expect(structuredContent).toEqual(isWrapped ? { result: { count: 1 } } : { count: 1 })
    expect(listed?.outputSchema?.type).toBe(isWrapped ? 'object' : undefined)
  })

  test('a stream that fails leaves nothing in the bucket', async () => {
    await using client = await as('eve')
    const count = (await keys()).length
    expect(await client.callTool('stream', { mebibytes: 20, failsAt: 17 })).toEqual(
      expect.objectContaining({ isError: true, content: [{ type: 'text', text: 'the source fails' }] }),
    )
    expect(await keys()).toHaveLength(count)
    await expect.poll(logged).toContain('the source fails')
  })

  test('with "generic", a stream that fails is an error result with an error id, and onError receives the cause', async () => {
    await using client = await connect(new URL('/generic/mcp', server.url), { revision })
    const { content, isError } = await client.callTool('stream', { mebibytes: 1, failsAt: 0 })
    expect(isError).toBe(true)
    const [, id] = /^The tool "stream" failed \(error id (\w{8})\)$/.exec(blocksOf({ content })[0]?.text ?? '') ?? []
    await expect.poll(logged).toContain(`onError ${id} stream the source fails`)
  })
})

test('a task stores its result for its principal', async () => {
  await using client = await connect(server.url, { revision: '2025-11-25', token: 'ada' })
  const created = await client.request('tools/call', { name: 'text', arguments: { size: 20_000 }, task: {} })
  const { taskId } = created.task as { taskId: string } // the result of a call with `task`
  const result = await client.request('tasks/result', { taskId })
  const { uri } = linkIn(result as unknown as { content: unknown }) // the result of a tool
  expect(await readAll(client, uri)).toBe('äbc'.repeat(5000))
})

test('an expired result is not found, and deleted', async () => {
  await using client = await connect(new URL('/expired/mcp', server.url), { revision: '2026-07-28' })
  const { uri } = linkIn(await client.callTool('text', { size: 20_000 }))
  const expired = async () => (await keys()).filter(({ key }) => key.startsWith('expired/'))
  expect(await expired()).toHaveLength(1)
  await expect(read(client, uri)).rejects.toThrow('Resource not found')
  expect(await expired()).toHaveLength(0)
})

test('a stream beyond maxStoredBytes fails', async () => {
  await using client = await connect(new URL('/expired/mcp', server.url), { revision: '2026-07-28' })
  expect(await client.callTool('stream', { mebibytes: 30 })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('A stored result has more than 20000000 bytes') }],
  })
})

test.each([
  [1000, 1100],
  [400, 2000],
  [7000, 1100],
])('%i blocks of %i bytes are stored together, and the result gets smaller than overBytes', async (count, size) => {
  await using client = await connect(new URL('/default/mcp', server.url), { revision: '2026-07-28' })
  const before = (await keys()).length
  const result = await client.callTool('many', { count, size })
  expect(await keys()).toHaveLength(before + 1)
  expect(JSON.stringify(result).length).toBeLessThan(262_144)
  const blocks = blocksOf(result)
  const group: Block[] = JSON.parse(await readAll(client, linkIn(result).uri))
  const sent = blocks.filter(({ type, text }) => type === 'text' && /^\d+\.*$/.test(text))
  expect([...group, ...sent].map(({ text }) => Number.parseInt(text, 10)).sort((a, b) => a - b)).toEqual(
    Array.from({ length: count }, (_, index) => index),
  )
})

test('storedResult() in a prompt is an error, and its stream is canceled', async () => {
  await using client = await connect(new URL('/default/mcp', server.url), { revision: '2026-07-28' })
  await expect(client.request('prompts/get', { name: 'stored' })).rejects.toThrow(
    'A prompt cannot contain storedResult(): return it from a tool',
  )
  expect(blocksOf(await client.callTool('canceled'))[0]?.text.split(',')).toContain('stored')
})

test.each([
  ['storeless', '2026-07-28', 'none'],
  ['storeless', '2024-11-05', 'spread'],
  ['storeless', '2025-11-25', 'nothing'],
  ['default', '2026-07-28', 'spread'],
  ['default', '2026-07-28', 'JSON'],
  ['default', '2026-07-28', 'interceptor'],
])('storedResult() that nothing stores is an error: at /%s/mcp, in %s, copied by %s', async (name, revision, copy) => {
  await using client = await connect(new URL(`/${name}/mcp`, server.url), { revision })
  const before = (await keys()).length
  const canceled = async () =>
    blocksOf(await client.callTool('canceled'))[0]
      ?.text.split(',')
      .filter((each) => each === copy).length ?? 0
  const canceledBefore = await canceled()
  const problem =
    /^The content of storedResult\(\) was not stored: .* add resultStore\(\) to the plugins of this endpoint/
  await expect(client.callTool('copied', { copy })).rejects.toThrow(problem)
  expect(await keys()).toHaveLength(before)
  // A copy as JSON has no stream.
  expect((await canceled()) - canceledBefore).toBe(copy === 'JSON' ? 0 : 1)
  if (name === 'storeless')
    await expect.poll(logged).toContain('onError copied The content of storedResult() was not stored')
})

test('a few blocks are stored one by one, and the others together', async () => {
  await using client = await connect(new URL('/default/mcp', server.url), { revision: '2026-07-28' })
  const before = (await keys()).length
  const result = await client.callTool('many', { count: 30, size: 100_000 })
  expect(await keys()).toHaveLength(before + 9)
  expect(blocksOf(result).filter(({ mimeType }) => mimeType === 'application/json')).toHaveLength(1)
  expect(JSON.stringify(result).length).toBeLessThan(262_144)
})

test('a block whose data is not base64 is stored as JSON', async () => {
  await using client = await connect(new URL('/default/mcp', server.url), { revision: '2026-07-28' })
  const result = await client.callTool('bad_image', { size: 600_000 })
  expect(JSON.parse(await readAll(client, linkIn(result).uri))).toEqual([
    { type: 'image', data: '*'.repeat(600_000), mimeType: 'image/png' },
  ])
})

test('a bucket that fails is asked once for a result', async () => {
  await using client = await connect(new URL('/broken/mcp', server.url), { revision: '2026-07-28' })
  const failures = () =>
    server.harness.getLogs().filter(({ message }) => /bucket of resultStore\(\)/.test(message)).length
  const before = failures()
  expect(blocksOf(await client.callTool('many', { count: 5, size: 20_000 }))).toHaveLength(5)
  await expect.poll(failures).toBe(before + 1)
})

test.each(['string', 'ArrayBuffer', 'object'])(
  'a stream with a chunk of type %s fails, and is not stored',
  async (kind) => {
    await using client = await connect(new URL('/default/mcp', server.url), { revision: '2026-07-28' })
    const before = (await keys()).length
    const type = kind === 'string' ? 'a string' : 'an object'
    const problem = `The stream that storedResult() got must have chunks of type Uint8Array, not ${type}`
    expect(await client.callTool('chunk', { kind })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining(problem) }],
    })
    expect(await keys()).toHaveLength(before)
    await expect.poll(logged).toContain(problem)
  },
)

test('a result is sent if its bucket fails, and the failure is logged', async () => {
  await using client = await connect(new URL('/broken/mcp', server.url), { revision: '2026-07-28' })
  const result = await client.callTool('text', { size: 20_000 })
  expect(blocksOf(result)).toEqual([{ type: 'text', text: 'äbc'.repeat(5000) }])
  await expect.poll(logged).toContain('bucket of resultStore() returned undefined')
})

test('a stored result can be read at endpoints of the identity of its endpoint only', async () => {
  const at = (name: string) => connect(new URL(`/${name}/mcp`, server.url), { revision: '2026-07-28' })
  await using twin = await at('twin')
  await using byDefault = await at('default')
  await using other = await at('other')
  await using another = await at('another')
  const stored = async (client: TestClient) => linkIn(await client.callTool('text', { size: 600_000 })).uri
  const [uri, otherUri] = [await stored(twin), await stored(other)]
  expect((await read(twin, uri))[0]?.text).toMatch(/^äbc/)
  await expect(read(byDefault, uri)).rejects.toThrow('Resource not found')
  expect((await read(another, otherUri))[0]?.text).toMatch(/^äbc/)
  await expect(read(twin, otherUri)).rejects.toThrow('Resource not found')
})
