/** `edgemcp events`, with a server in development and a deployed one. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { Receiver } from '../events/receivers.ts'
import { openShop, wanting } from '../events/shop.ts'
import { inspectorSecrets } from '../support/inspector-key.ts'
import { startServer } from '../support/server.ts'
import { write } from './good-project.ts'
import { runHere } from './run-here.ts'

const key = inspectorSecrets.EDGEMCP_INSPECTOR_KEY
const run = (...args: string[]) => runHere(['events', ...args], '.')

describe('with a server in development', () => {
  let shop: Awaited<ReturnType<typeof openShop>>
  let link: string
  beforeAll(async () => {
    // Wrangler puts this into the bundle.
    vi.stubEnv('NODE_ENV', 'development')
    shop = await openShop(inspectorSecrets)
    link = `${shop.server.url.origin}/?inspector=${key}`
  })
  afterAll(() => shop[Symbol.asyncDispose]())

  test('lists subscriptions, attempts and dead letters, and sends one again', async () => {
    expect(await run('--url', link)).toEqual({
      code: 0,
      stdout: 'Subscriptions: none\n\nAttempts since the server started: none\n\nDead letters: none\n',
      stderr: '',
    })
    const receiver = new Receiver(shop.internet, 'listed?token=hidden')
    await using one = await shop.subscribed('listed', receiver, 'listed')
    receiver.answers = () => new Response(null, { status: 410 })
    const id = await shop.paid('listed')
    await receiver.received(1)
    const report = async () => JSON.parse((await run('--json', '--url', link)).stdout)
    const url = 'https://hooks.example/listed'
    await expect.poll(report).toEqual({
      subscriptions: [{ id: one.id, event: 'order.paid', url, state: 'active', refreshBefore: expect.any(String) }],
      attempts: [
        {
          id,
          event: 'order.paid',
          subscription: one.id,
          outcome: 410,
          durationMs: expect.any(Number),
          at: expect.any(String),
        },
      ],
      deadLetters: [{ id, subscription: one.id, reason: 'gone', at: expect.any(String) }],
    })
    const { stdout } = await run('--url', link)
    expect(stdout).toMatch(
      /^Subscriptions:\n {2}event +url +state +refresh before +id\n {2}order\.paid +https:\/\/hooks\.example\/listed +active /,
    )
    expect(stdout).toContain(`gone    ${id}  ${one.id}`)
    expect(stdout).not.toContain('hidden')
    receiver.answers = () => new Response(null, { status: 204 })
    expect(await run('redeliver', id, '--url', link)).toEqual({
      code: 0,
      stdout: 'Sent again to 1 subscription.\n',
      stderr: '',
    })
    await receiver.received(2)
    expect(receiver.events[1]?.id).toBe(id)
    expect(await run('redeliver', id, '--url', link)).toMatchObject({
      code: 1,
      stderr: `No dead letter has the id "${id}": npx edgemcp events lists them.`,
    })
    const again = await run('redeliver', id, '--json', '--url', link)
    expect([again.code, JSON.parse(again.stdout)]).toEqual([1, { ok: false, redelivered: 0 }])
    await one.client.request('events/unsubscribe', wanting(receiver, 'listed'))
  })

  test('takes the key from the environment, and does nothing without it', async () => {
    const url = shop.server.url.origin
    for (const args of [[], ['redeliver', 'evt_1']])
      expect(await run(...args, '--url', url)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('The inspector key is missing'),
      })
    vi.stubEnv('EDGEMCP_INSPECTOR_KEY', key)
    expect(await run('--url', url)).toMatchObject({ code: 0, stderr: '' })
  })

  test('is not answered for a page of another origin, or through a tunnel', async () => {
    const headers = { Cookie: `edgemcp-inspector-${shop.server.url.port}=${key}` }
    const foreign: Record<string, string>[] = [{ Origin: 'http://localhost:1' }, { 'X-Forwarded-For': '203.0.113.1' }]
    for (const other of foreign) {
      const init = { method: 'POST', headers: { ...headers, ...other } }
      expect((await fetch(new URL('/?inside=events&id=x', shop.server.url), init)).status).toBe(403)
    }
    // A link changes nothing.
    const got = await fetch(new URL('/?inside=events&id=x', shop.server.url), { headers })
    expect(await got.text()).not.toContain('redelivered')
  })
})

test('a deployed Worker does not answer', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  await using shop = await openShop(inspectorSecrets)
  const link = `${shop.server.url.origin}/?inspector=${key}`
  for (const args of [[], ['redeliver', 'evt_1']])
    expect(await run(...args, '--url', link)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is not edgemcp in development'),
    })
})

test('a server in development without events() has none', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  await using server = await startServer('examples/hello', inspectorSecrets)
  const link = `${server.url.origin}/?inspector=${key}`
  for (const args of [[], ['--json'], ['redeliver', 'evt_1'], ['redeliver', 'evt_1', '--json']])
    expect(await run(...args, '--url', link)).toEqual({
      code: 1,
      stdout: '',
      stderr: `The server at ${server.url.origin} has no events() in its plugins, or another version of edgemcp.`,
    })
})

test('a server whose tenants have paths has no inspector to ask', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  using project = write({
    'index.ts': `import { createServer, serve } from 'edgemcp'
import { bearer, tenants } from 'edgemcp/auth'
const auth = bearer({ issuer: 'https://auth.example.com' })
export default serve(createServer({ name: 'shop', version: '1.0.0' }), { tenants: tenants('/{tenant}/mcp', () => ({ auth })) })
`,
    'wrangler.toml':
      'name = "shop"\nmain = "index.ts"\ncompatibility_date = "2026-10-15"\ncompatibility_flags = ["enable_request_signal"]\n',
  })
  await using server = await startServer(project.folder, inspectorSecrets)
  const { origin } = server.url
  expect(await run('--url', `${origin}/?inspector=${key}`)).toEqual({
    code: 1,
    stdout: '',
    stderr: `The server at ${origin} has no inspector, which answers this command: it is not edgemcp in development, its endpoint is at /, or its tenants have paths.`,
  })
})

describe('with a server of another version', () => {
  let answer: unknown
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify(answer))
  })
  let url: string
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => void server.close())

  test.each<[unknown, string[]]>([
    [null, []],
    [[], []],
    [{ subscriptions: [], attempts: [] }, ['--json']],
    [{ subscriptions: [], attempts: {}, deadLetters: [] }, []],
    [{}, ['redeliver', 'evt_1']],
    [{ redelivered: '1' }, ['redeliver', 'evt_1', '--json']],
  ])('does not take %j for an answer', async (other, args) => {
    answer = other
    expect(await run(...args, '--url', url)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('or another version of edgemcp'),
    })
  })

  test('prints no control characters, and no line of its own for a line break', async () => {
    const event = 'paid\u009b2J\u007f\nforged'
    answer = { subscriptions: [{ event }], attempts: [], deadLetters: [] }
    const [text, json] = [await run('--url', url), await run('--json', '--url', url)]
    expect(text.stdout).toContain('  paid\\u009b2J\\u007f forged\n')
    expect(json.stdout).toContain('"paid\\u009b2J\\u007f\\nforged"')
    expect(JSON.parse(json.stdout)).toEqual(answer)
  })

  test('leaves cells empty for what the server does not send', async () => {
    answer = { subscriptions: [null], attempts: [{ id: 'evt_1', outcome: 410, event: { name: 'x' } }], deadLetters: [] }
    expect((await run('--url', url)).stdout.split('\n').map((line) => line.trimEnd())).toEqual([
      'Subscriptions:',
      '  event  url  state  refresh before  id',
      '',
      '',
      'Attempts since the server started:',
      '  at  event         outcome  ms  id     subscription',
      '      {"name":"x"}  410          evt_1',
      '',
      'Dead letters: none',
      '',
    ])
  })
})

test.each([
  [['redo'], 'Give nothing, or "redeliver" and an id: "redo" is unexpected.'],
  [['redeliver'], 'Give the id of an event: npx edgemcp events lists them.'],
  [['--url', 'https://mcp.example.com'], 'Give --url of a server on this machine'],
  [['--url', '8787'], 'Give --url of a server on this machine'],
  [['--url', 'http://127.0.0.1:9'], 'Nothing answers at http://127.0.0.1:9'],
  [['redeliver', 'a', 'b'], 'Give "redeliver" and an id: "b" is unexpected.'],
])('%j: %s', async (args, message) => {
  expect(await run(...args)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(message) })
})
