import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connect, everyRevision, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { TaskClient } from '../tasks/client.ts'

type Json = Record<string, unknown>

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/compose/server')
})
afterAll(() => server[Symbol.asyncDispose]())

const answers = { elicit: () => ({ action: 'accept', content: { name: 'Ada' } }) }
const main = (revision: string, token?: string) => connect(server.url, { revision, answers, ...(token && { token }) })
const textOf = async (client: TestClient, name: string, args: Json = {}) =>
  ((await client.callTool(name, args)).content as { text: string }[])[0]?.text
const namesOf = async (client: TestClient, list: string) =>
  ((await client.request(`${list}/list`))[list] as { name: string }[]).map(({ name }) => name)

describe.each(everyRevision)('for clients of %s', (revision) => {
  let client: TestClient
  beforeAll(async () => {
    client = await main(revision)
  })
  afterEach(() => textOf(client, 'seen'))
  afterAll(() => client.close())

  test('the entries of a mounted server are entries of the outer server', async () => {
    expect(await namesOf(client, 'tools')).toEqual([
      'weather_now',
      'weather_warm',
      'weather_asked',
      'echo',
      'ask',
      'placed',
      'long',
    ])
    expect(await namesOf(client, 'prompts')).toEqual(['weather_plan'])
    expect(await textOf(client, 'weather_now', { city: 'Bern' })).toBe('Fine in Bern')
    await expect(client.callTool('now', { city: 'Bern' })).rejects.toMatchObject({ message: 'Unknown tool: now' })
    expect(await client.request('prompts/get', { name: 'weather_plan' })).toMatchObject({
      messages: [{ content: { text: 'Plan my day' } }],
    })
    expect(await client.request('resources/read', { uri: 'weather://bern' })).toMatchObject({
      contents: [{ text: expect.stringMatching(/°C$/) }],
    })
  })

  test('interceptors of a mounted server wrap its own entries, and see the names without prefix', async () => {
    await textOf(client, 'weather_asked')
    expect(await textOf(client, 'weather_now', { city: 'Berne' })).toBe('Fine in Bern')
    await expect(client.callTool('weather_now', { city: 'Atlantis' })).rejects.toMatchObject({
      message: 'Atlantis has no weather',
    })
    await client.request('prompts/get', { name: 'weather_plan' })
    await client.request('resources/read', { uri: 'weather://bern' })
    await textOf(client, 'echo', { text: 'hi' })
    await client.request('tools/list')
    const asked = 'tools/call now, prompts/get plan, resources/read weather://bern, tools/call asked'
    expect(await textOf(client, 'weather_asked')).toBe(asked)
    // What stands around the whole server stands around this, too, under the names that clients use.
    expect(await textOf(client, 'seen')).toContain(`outer tools/call weather_now ${revision}`)
  })

  test('subscribers are notified of changes that a mounted server publishes', async () => {
    const stream = await client.subscribe({ resourceSubscriptions: ['weather://bern'] })
    if (revision < '2026-07-28') await client.request('resources/subscribe', { uri: 'weather://bern' })
    await client.callTool('weather_warm', { city: 'bern' })
    expect((await client.next('notifications/resources/updated')).params).toMatchObject({ uri: 'weather://bern' })
    await stream.close()
  })

  test('an interceptor sees the method, name, principal and outcome of a call, outermost first', async () => {
    expect(await textOf(client, 'echo', { text: 'hi' })).toBe('hi')
    expect(await textOf(client, 'seen')).toBe(`outer tools/call echo ${revision} nobody, outer over`)
    await using adas = await main(revision, 'ada')
    await textOf(adas, 'seen')
    await adas.request('prompts/list')
    expect(await textOf(adas, 'seen')).toBe(`outer prompts/list ${revision} ada, outer over`.replace('list ', 'list  '))
  })

  test('an interceptor can change the params, return a result without the handler, and refuse a call', async () => {
    expect(await textOf(client, 'echo', { text: 'changed' })).toBe('other words')
    expect(await textOf(client, 'echo', { text: 'cached' })).toBe('from the cache')
    await expect(client.callTool('echo', { text: 'forbidden' })).rejects.toMatchObject({
      code: -32600,
      message: 'That must not be said',
    })
  })

  test('an interceptor runs in each round of a call that requests input', async () => {
    const asks = everyRevision.indexOf(revision) < everyRevision.indexOf('2025-03-26')
    expect(await textOf(client, 'ask')).toBe(asks ? 'Hello, Ada' : 'This call needs a client that supports elicitation')
    const times = asks ? 2 : 1
    expect((await textOf(client, 'seen'))?.match(/outer tools\/call ask/g)).toHaveLength(times)
  })

  test('another server of the same Worker is served at its own path', async () => {
    await using other = await connect(new URL('/other/mcp', server.url), { revision, sse: false })
    expect(await namesOf(other, 'tools')).toEqual(['now', 'warm', 'asked'])
    expect(await textOf(other, 'now', { city: 'Bern' })).toBe('Fine in Bern')
  })
})

test('interceptors run around the call that creates a task, and around each of its runs', async () => {
  const client = new TaskClient(server.url)
  await client.call('seen')
  await client.until(await client.begin('long'), 'completed')
  const [seen] = (await client.call('seen')).content as { text: string }[]
  expect(seen?.text.match(/outer (?:task )?tools\/call/g)).toEqual(['outer tools/call', 'outer task tools/call'])
})

describe('a Worker of several servers and an application', () => {
  const ask = (path: string, init?: RequestInit) => fetch(new URL(path, server.url), init)

  test('leaves other paths to the application', async () => {
    expect(await (await ask('/')).text()).toBe('The application')
    // Whoever may not call the server may call the application.
    const about = await ask('/mcp/about', { method: 'POST', headers: { Origin: 'https://elsewhere.example' } })
    expect([about.status, await about.text()]).toEqual([201, 'About'])
    expect((await ask('/nothing')).status).toBe(404)
    expect((await ask('/mcp', { method: 'PUT' })).status).toBe(405)
    expect((await ask('/other/mcp', { headers: { Origin: 'https://elsewhere.example' } })).status).toBe(403)
  })
})

describe('the RPC entrypoint for other Workers', () => {
  const rpc = async (method: string, params: Json = {}, token?: string): Promise<Json> =>
    (await (
      await fetch(new URL('/rpc', server.url), { method: 'POST', body: JSON.stringify({ method, params, token }) })
    ).json()) as Json

  test('uses the given URL, from which bearer() takes the audience', async () => {
    const body = JSON.stringify({ method: 'tools/list', params: {}, token: 'ada', entrypoint: 'McpUrlEntrypoint' })
    expect(await (await fetch(new URL('/rpc', server.url), { method: 'POST', body })).json()).toMatchObject({
      tools: expect.any(Array),
    })
    const asked = await fetch(new URL('/authenticated-url', server.url))
    expect(await asked.text()).toBe('https://mcp.example.com/mcp')
  })

  test('calls, reads and lists as the principal of a token', async () => {
    const call = (name: string, args: Json = {}, token?: string) => rpc('tools/call', { name, arguments: args }, token)
    expect(await call('weather_now', { city: 'Bern' })).toMatchObject({ content: [{ text: 'Fine in Bern' }] })
    expect(await rpc('resources/read', { uri: 'weather://zürich' })).toMatchObject({ contents: [{}] })
    await call('seen')
    await call('echo', { text: 'hi' }, 'ada')
    expect(await call('seen')).toMatchObject({
      content: [{ text: `outer tools/call echo ${everyRevision[0]} ada, outer over` }],
    })
  })

  test.each<Json>([{ region: 'eu' }, { region: 'Zürich ', at: { floor: -3 } }])(
    'calls a tool whose arguments are repeated in headers: %j',
    async (args) => {
      const { content } = await rpc('tools/call', { name: 'placed', arguments: args })
      expect(JSON.parse((content as [{ text: string }])[0].text)).toEqual(args)
    },
  )

  test('sends Mcp-Name for a method of an extension that names a member', async () => {
    expect(await rpc('rooms/open', { room: 'Süd 1' })).toMatchObject({ opened: 'Süd 1' })
  })

  test.each<[string, Json, string]>([
    ['tools/call', { name: 'nothing' }, 'Unknown tool: nothing'],
    ['tools/call', { name: 'ask' }, 'This call needs a client that supports elicitation'],
    ['no/such', {}, 'Method not found: no/such'],
    ['resources/read', { uri: 'weather' }, 'params.uri must be a URI with a scheme'],
  ])('returns the error of %s %j', async (method, params, problem) => {
    expect(await rpc(method, params)).toEqual({ problem })
  })
})
