/**
 * Runs the servers of docs/cookbook, all in one workerd. Code, configuration and SQL are taken from the pages, so that readers copy what
 * is tested. Only addresses, secrets and the host name of each server are those of the test.
 */
import { createHmac } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { type Answers, type ConnectOptions, connect, startReceiver } from '../../worker/testing/index.ts'
import { type StartedProvider, startIssuer, startProvider } from '../../worker/testing/node/index.ts'
import { listen } from '../../worker/testing/node/listen.ts'
import { namedHost } from '../support/named-host.ts'
import { type Page, pages, root } from './pages.ts'

const recipes = pages.filter(({ path }) => /^docs\/cookbook\/(?!index)/.test(path))
const nameOf = ({ path }: Page) => basename(path, '.md')
/** Tokens of its users need an address that every client reaches: it answers requests for unknown hosts. */
const first = 'call-an-api'

mkdirSync(join(root, '.wrangler'), { recursive: true })
const folder = mkdtempSync(join(root, '.wrangler/cookbook-'))
const revisions = ['2025-11-25', '2026-07-28'] as const

let harness: TestHarness
let url: URL
let issuer: Awaited<ReturnType<typeof startIssuer>>
let provider: StartedProvider
let upstream: Awaited<ReturnType<typeof listen>>
/** What the APIs of the recipes answer, by path. */
const answers = new Map<string, (request: Request) => Response | Promise<Response>>()

beforeAll(async () => {
  issuer = await startIssuer()
  provider = await startProvider({ users: [{ id: 1815, login: 'ada' }] })
  upstream = await listen((request) => answers.get(new URL(request.url).pathname)?.(request))
  const vars = { API_URL: upstream.url, PAYMENTS_URL: upstream.url, FEED_URL: `${upstream.url}/feed` }
  const secrets = {
    CLIENT_SECRET: provider.clientSecret,
    SIGNING_KEY: 'a key of the test',
    GITHUB_WEBHOOK_SECRET: 'a secret of the test',
  }
  const ordered = recipes.toSorted((a, b) => Number(nameOf(b) === first) - Number(nameOf(a) === first))
  const workers = ordered.map((page) => {
    const isFirst = nameOf(page) === first
    const ofFirst = { ISSUER: provider.url, CLIENT_ID: provider.clientId }
    return {
      configPath: write(page),
      vars: { ...vars, ORIGIN: `http://${nameOf(page)}.localhost`, ISSUER: issuer.issuer, ...(isFirst && ofFirst) },
      secrets,
    }
  })
  harness = createTestHarness({ root: folder, workers })
  url = (await harness.listen()).url
})
afterAll(async () => {
  await harness?.close()
  await Promise.all([issuer?.close(), provider?.close(), upstream?.close()])
  rmSync(folder, { recursive: true, force: true })
})

/** Writes the files of a recipe. @returns the path of its configuration */
function write(page: Page): string {
  const name = nameOf(page)
  const place = join(folder, name)
  const codeOf = (language: string) => page.blocks.find((block) => block.language === language)?.code ?? ''
  const isFirst = name === first
  const main = 'main = "index.ts"\n'
  const routes = isFirst ? main : `${main}routes = ["${name}.localhost/*"]\n`
  // Pages have no id of a database or namespace, and those of one id are one.
  const configuration = codeOf('toml')
    .replace(main, routes)
    .replace(/(?<=id = ")[0-]+(?=")/g, name)
  mkdirSync(join(place, 'migrations'), { recursive: true })
  writeFileSync(join(place, 'index.ts'), codeOf('ts'))
  writeFileSync(join(place, 'migrations/0001_tables.sql'), codeOf('sql'))
  writeFileSync(join(place, 'wrangler.toml'), configuration)
  return join(place, 'wrangler.toml')
}

/** Sends a request to a recipe, over HTTP. */
const fetchOf = (request: Request) => namedHost(url)(request)

function client(recipe: string, options: ConnectOptions) {
  if (recipe === first) return connect(new URL('/mcp', url), options)
  return connect(namedHost(url), { url: `http://${recipe}.localhost/mcp`, ...options })
}

/** The text of the result of a call by a client of its own. */
async function call(recipe: string, tool: string, args: object, options: ConnectOptions): Promise<string> {
  await using caller = await client(recipe, options)
  const { content } = await caller.callTool(tool, { ...args })
  return (content as { text: string }[]).map(({ text }) => text).join('\n')
}

const workerOf = (recipe: string) => {
  const page = recipes.find((page) => nameOf(page) === recipe)
  const [, name] = /^name = "(.*)"/.exec(page?.blocks.find(({ language }) => language === 'toml')?.code ?? '') ?? []
  return harness.getWorker(name)
}

test('each recipe has code and configuration, and a test', () => {
  expect(recipes).toHaveLength(13)
  for (const { blocks } of recipes) {
    expect(blocks.filter(({ language }) => language === 'ts')).toHaveLength(1)
    expect(blocks.filter(({ language }) => language === 'toml')).toHaveLength(1)
  }
})

describe.each(revisions)('for a client of %s', (revision) => {
  test('call-an-api sends the token of the user, not that of the client', async () => {
    // The API asks the provider whose token it got.
    answers.set('/orders', async ({ headers }) => {
      const user = await fetch(`${provider.url}/userinfo`, {
        headers: [...headers].filter(([name]) => name === 'authorization'),
      })
      return user.ok ? new Response(`Orders of ${(await user.json()).preferred_username}`) : user
    })
    const token = await provider.tokenFor('ada')(new URL('/mcp', url).href)
    expect(await call(first, 'list_orders', {}, { revision, token })).toBe('Orders of ada')
    const direct = await fetch(new URL('/orders', upstream.url), { headers: { Authorization: `Bearer ${token}` } })
    expect(direct.status).toBe(401)
    answers.set('/orders', () => new Response(null, { status: 500 }))
    expect(await call(first, 'list_orders', {}, { revision, token })).toBe('The API answered with status 500')
  })

  test('files-in-r2 takes one file for each URL, and serves it', async () => {
    await using caller = await client('files-in-r2', { revision })
    const { structuredContent } = await caller.callTool('create_upload', { name: 'tea.txt' })
    const { uploadUrl, resource } = structuredContent as { uploadUrl: string; resource: string }
    const put = async (to: string) => (await fetchOf(new Request(to, { method: 'PUT', body: 'Green' }))).status
    expect(await put(uploadUrl.replace('tea.txt', 'oat.txt'))).toBe(403)
    expect(await put(uploadUrl.replace(/expires=\d/, 'expires=9'))).toBe(403)
    expect(await put(uploadUrl.replace(/signature=.*/, ''))).toBe(403)
    expect(await put(uploadUrl)).toBe(201)
    expect(await put(uploadUrl)).toBe(409)
    const { contents } = await caller.request('resources/read', { uri: resource })
    expect(contents).toMatchObject([{ blob: btoa('Green') }])
  })

  test('progress reports each page, also to a client that has lost its stream', async () => {
    const totals = [[1, 2], [3], [4]]
    const firstPage = Promise.withResolvers<void>()
    const seen: unknown[] = []
    await using caller = await client('progress', { revision })
    answers.set('/orders', async (request) => {
      const page = Number(new URL(request.url).searchParams.get('page'))
      if (page === 2) await firstPage.promise
      if (page === 2 && revision === '2025-11-25') await caller.dropStream()
      return Response.json({ pages: 3, totals: totals[page - 1] })
    })
    const onProgress = ({ message }: { message?: unknown }) => {
      seen.push(message)
      firstPage.resolve()
    }
    const { content } = await caller.request('tools/call', { name: 'sum_orders', arguments: {} }, { onProgress })
    expect(content).toEqual([{ type: 'text', text: 'All orders together: 10 EUR' }])
    expect(seen).toEqual(['Read page 1 of 3', 'Read page 2 of 3', 'Read page 3 of 3'])
  })

  test('confirm-a-payment pays once after consent, and not without', async () => {
    const paid: unknown[] = []
    answers.set('/payments', async (request) => {
      expect(request.headers.get('Idempotency-Key')).toMatch(/^[\da-f-]{36}$/)
      paid.push(await request.json())
      return new Response('R-1')
    })
    const payment = { invoice: 'I-7', amount: 5 }
    const payWith = (elicit?: Answers['elicit']) =>
      call('confirm-a-payment', 'pay_invoice', payment, { revision, ...(elicit && { answers: { elicit } }) })
    expect(await payWith()).toContain('https://shop.example.com/invoices/I-7')
    expect(await payWith([{ action: 'decline' }])).toBe('Nothing was paid.')
    expect(await payWith([{ action: 'accept', content: { pay: false } }])).toBe('Nothing was paid.')
    expect(paid).toEqual([])
    expect(await payWith([{ action: 'accept', content: { pay: true } }])).toBe('Paid, receipt R-1')
    expect(paid).toEqual([payment])
  })

  test('tenant-data shows each tenant its own rows', async () => {
    await workerOf('tenant-data').applyD1Migrations('DB')
    const tokenOf = (tenant: object) => issuer.tokenFor({ sub: 'ada', ...tenant })
    const listOf = async (tenant: string) => {
      await using caller = await client('tenant-data', {
        revision,
        token: tokenOf({ org_id: `${tenant} ${revision}` }),
      })
      await caller.callTool('add_project', { name: `Tea of ${tenant}` })
      return (await caller.callTool('list_projects')).structuredContent
    }
    expect(await listOf('acme')).toEqual({ projects: [{ name: 'Tea of acme' }] })
    expect(await listOf('globex')).toEqual({ projects: [{ name: 'Tea of globex' }] })
    await expect(client('tenant-data', { revision, token: tokenOf({}) })).rejects.toMatchObject({ status: 403 })
  })

  test('quota-per-plan counts the calls of a user by the plan', async () => {
    const search = (plan: string) => {
      const token = issuer.tokenFor({ sub: `${plan} ${revision}`, plan })
      return call('quota-per-plan', 'search', { words: 'tea' }, { revision, token })
    }
    for (let calls = 0; calls < 3; calls += 1) expect(await search('free')).toBe('Results for tea')
    expect(await search('free')).toMatch(/^Your plan has 3 calls a day/)
    for (let calls = 0; calls < 4; calls += 1) expect(await search('pro')).toBe('Results for tea')
    expect(await search('unknown')).toMatch(/^Your plan has 0 calls a day/)
  })

  test('cron-notifications notifies subscribers when the feed has changed', async () => {
    const uri = 'prices://today'
    answers.set('/feed', () => Response.json({ tea: revision }))
    await using caller = await client('cron-notifications', { revision })
    await using _ = { [Symbol.asyncDispose]: (await caller.subscribe({ resourceSubscriptions: [uri] })).close }
    const cron = { cron: '*/10 * * * *', scheduledTime: new Date() }
    await workerOf('cron-notifications').scheduled(cron)
    expect(await caller.next('notifications/resources/updated')).toMatchObject({ params: { uri } })
    const { contents } = await caller.request('resources/read', { uri })
    expect(contents).toMatchObject([{ text: JSON.stringify({ tea: revision }) }])
  })

  test('queue-task returns what the consumer stored', async () => {
    const job = { text: 'Tea' }
    const content = [{ type: 'text', text: 'Printed 3 characters' }]
    await using caller = await client('queue-task', { revision })
    // The client of 2026-07-28 has no tasks, and waits for the result of the call.
    if (revision === '2026-07-28') return expect((await caller.callTool('print_book', job)).content).toEqual(content)
    const { task } = await caller.request('tools/call', { name: 'print_book', arguments: job, task: {} })
    expect(await caller.request('tasks/result', { taskId: (task as { taskId: string }).taskId })).toMatchObject({
      content,
    })
  })

  test('failed-builds notifies the agents of those who watch a repository', async () => {
    const [ada, eve] = [startReceiver(), startReceiver()]
    for (const [sub, { delivery }] of [
      ['ada', ada],
      ['eve', eve],
    ] as const) {
      const token = issuer.tokenFor({ sub: `${sub} ${revision}` })
      await using caller = await client('failed-builds', { revision, token })
      await caller.request('events/subscribe', { name: 'build.failed', arguments: {}, delivery })
      const repository = sub === 'ada' ? `acme/${revision}` : `acme/${revision}.eve`
      await caller.callTool('watch_builds', { repository })
    }
    const send = (repository: string, conclusion: string, html_url: string) => {
      const body = JSON.stringify({ repository: { full_name: repository }, workflow_run: { conclusion, html_url } })
      const signature = createHmac('sha256', 'a secret of the test').update(body).digest('hex')
      const headers = {
        'X-GitHub-Event': 'workflow_run',
        'X-GitHub-Delivery': `${repository} ${html_url}`,
        'X-Hub-Signature-256': `sha256=${signature}`,
      }
      const to = 'http://failed-builds.localhost/webhooks/github'
      return fetchOf(new Request(to, { method: 'POST', headers, body }))
    }
    expect((await send(`acme/${revision}`, 'success', 'https://github.example/1')).status).toBe(200)
    for (const repository of [`acme/${revision}`, `acme/${revision}`, `acme/${revision}.eve`])
      expect((await send(repository, 'failure', 'https://github.example/2')).status).toBe(200)
    const url = 'https://github.example/2'
    expect((await ada.next()).data).toEqual({ repository: `acme/${revision}`, url })
    expect((await eve.next()).data).toEqual({ repository: `acme/${revision}.eve`, url })
    await send(`acme/${revision}`, 'failure', 'https://github.example/3')
    expect((await ada.next()).data).toMatchObject({ url: 'https://github.example/3' })
  })

  test('hono serves the routes of the app and the server', async () => {
    expect(await call('hono', 'capital', { country: 'Peru' }, { revision })).toBe('Lima')
    const get = (path: string) => fetchOf(new Request(`http://hono.localhost${path}`))
    expect(await (await get('/capitals/Norway')).json()).toEqual({ capital: 'Oslo' })
    expect((await get('/capitals/Nowhere')).status).toBe(404)
  })

  test('hide-tools shows a tool to administrators only', async () => {
    const as = (role: string) => client('hide-tools', { revision, token: issuer.tokenFor({ sub: role, role }) })
    await using admin = await as('admin')
    await using reader = await as('reader')
    const namesOf = async ({ request }: typeof admin) =>
      ((await request('tools/list')).tools as { name: string }[]).map(({ name }) => name)
    expect(await namesOf(admin)).toEqual(['read_page', 'delete_page'])
    expect(await namesOf(reader)).toEqual(['read_page'])
    expect(await admin.callTool('delete_page', { title: 'Tea' })).toMatchObject({ content: [{ text: 'Deleted Tea.' }] })
    await expect(reader.callTool('delete_page', { title: 'Tea' })).rejects.toThrow('Unknown tool')
  })

  test('cache asks the API once, and has an answer while it is down', async () => {
    const city = `Oslo ${revision === '2026-07-28' ? 'A' : 'B'}`
    const path = `/forecast/${encodeURIComponent(city.toLowerCase())}`
    let requests = 0
    answers.set(path, () => {
      requests += 1
      return new Response('Snow')
    })
    const forecast = (of: string) => call('cache', 'forecast', { city: of }, { revision })
    expect([await forecast(city), await forecast(city), requests]).toEqual(['Snow', 'Snow', 1])
    const { CACHE } = await workerOf('cache').getEnv()
    await CACHE.put(path, JSON.stringify({ text: 'Old snow', freshUntil: 0 }))
    answers.set(path, () => new Response(null, { status: 503 }))
    expect(await forecast(city)).toBe('Old snow')
    expect(await forecast('Nowhere')).toMatch(/does not answer/)
  })

  test('create-once stores a repeated order once', async () => {
    await workerOf('create-once').applyD1Migrations('DB')
    const as = (sub: string) =>
      client('create-once', { revision, token: issuer.tokenFor({ sub: `${sub} ${revision}` }) })
    await using ada = await as('ada')
    await using bob = await as('bob')
    const order = async (caller: typeof ada, count: number) =>
      (await caller.callTool('order', { product: 'Tea', count })).structuredContent as { id: string; isNew: boolean }
    const orders = await Promise.all([order(ada, 1), order(ada, 1), order(ada, 2), order(bob, 1)])
    expect(orders.filter(({ isNew }) => isNew)).toHaveLength(3)
    expect(new Set(orders.map(({ id }) => id)).size).toBe(3)
    expect(orders[0]?.id).toBe(orders[1]?.id)
  })
})
