import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { connect, everyRevision } from '../../worker/testing/index.ts'
import { found, launch, missing } from '../support/chromium.ts'
import { isFull, sample } from '../support/full.ts'
import { inspectorSecrets } from '../support/inspector-key.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type OpenInspector, openInspector } from './open-inspector.ts'
import { startRelay } from './relay.ts'

const patience = { timeout: 30_000 }
const stateless = everyRevision[0] as string
const withForms = everyRevision.slice(0, 3)
const withPages = everyRevision.slice(0, 2)
/** With an `Mcp-Session-Id`. */
const withSession = everyRevision.slice(1, -1)

describe.skipIf(!found)(`the inspector in Chromium${missing}`, () => {
  let server: TestServer
  let browser: Browser
  let opened: OpenInspector
  /** What a test may find in the console. */
  let expected: RegExp | undefined

  beforeAll(async () => {
    // Wrangler puts this into the bundle. `wrangler dev` and `npm run example` set it themselves.
    vi.stubEnv('NODE_ENV', 'development')
    server = await startServer('test/inspector/server', inspectorSecrets)
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.harness.close()
  })
  afterEach(async () => {
    const problems = opened?.problems
    await opened?.[Symbol.asyncDispose]()
    const unexpected = problems?.filter((problem) => !expected?.test(problem))
    expected = undefined
    expect(unexpected).toEqual([])
  })

  async function open(revision = stateless, options?: Parameters<typeof openInspector>[2]): Promise<OpenInspector> {
    opened = await openInspector(browser, server.url, options)
    if (revision !== stateless) await opened.connect(revision)
    return opened
  }

  const says = (text: string | RegExp) => expect.poll(() => opened.result.innerText(), patience).toMatch(text)

  // Stateless, with sessions, and over HTTP+SSE.
  const transports = everyRevision.filter((revision) => isFull || [0, 1, 4].includes(everyRevision.indexOf(revision)))

  describe.each(transports)('as a client of %s', (revision) => {
    // A token is a header, whatever the transport is.
    const testOnce = test.runIf(isFull || revision === stateless)

    test('lists all entries, calls tools, reads resources, gets prompts and completes arguments', async () => {
      const { page, choose } = await open(revision)
      expect(await page.locator('.offers button').allInnerTexts()).toEqual(
        expect.arrayContaining(['shape', 'brew', 'greet', 'data://fixed', 'note://1', 'note://{id}']),
      )
      await choose('data://fixed')
      await page.getByRole('button', { name: 'Read', exact: true }).click()
      await says(/always the same/)
      await choose('note://{id}')
      await page.getByLabel('id').fill('2')
      await page.getByRole('button', { name: 'Read', exact: true }).click()
      await says(/note 2, version/)
      await choose('greet')
      const name = page.getByLabel('name', { exact: false }).last()
      await name.fill('a')
      if (revision !== everyRevision.at(-1)) {
        await expect.poll(() => page.locator('datalist option').count(), patience).toBe(2)
      }
      await name.fill('ada')
      await page.getByRole('button', { name: 'Get', exact: true }).click()
      await says(/Greet ada\./)
    })

    test('shows progress and log messages, and cancels calls', async () => {
      const { page, call, choose, result } = await open(revision)
      const before = await (await call('cancelled')).locator('pre').innerText()
      await call('steps')
      await expect.poll(() => result.locator('progress').getAttribute('value'), patience).toBe('3')
      await expect.poll(() => page.locator('.happenings').innerText(), patience).toMatch(/warning steps.*the start/s)
      await result.getByRole('button', { name: 'Cancel steps' }).click()
      await says(/cancelled, \d+ ms/)
      await choose('cancelled')
      await expect
        .poll(async () => {
          await call('cancelled')
          return Number(await result.locator('pre').innerText())
        }, patience)
        .toBe(Number(before) + 1)
    })

    test('answers sampling and roots requests', async () => {
      const { page, call, question } = await open(revision)
      await call('ask_model')
      expect(await question.innerText()).toContain('What is the capital of France?')
      await question.getByLabel('Answer').fill('Paris')
      await question.getByRole('button', { name: 'Answer' }).click()
      await says(/The model says: Paris/)
      await call('ask_roots')
      await question.getByLabel('Roots').fill('file:///a\nfile:///b')
      await question.getByRole('button', { name: 'Answer' }).click()
      await says('file:///a file:///b')
      expect(await page.locator('.question').count()).toBe(0)
    })

    test('subscribes to a resource and shows its update', async () => {
      const { page, call, choose } = await open(revision)
      await choose('note://1')
      await page.getByRole('button', { name: 'Subscribe' }).click()
      await page.getByText('Subscribed to note://1').waitFor()
      await call('touch')
      await expect.poll(() => page.locator('.happenings').innerText(), patience).toContain('resources/updated note://1')
      await choose('note://1')
      await page.getByRole('button', { name: 'Unsubscribe' }).click()
      await page.getByRole('button', { name: 'Subscribe', exact: true }).waitFor()
    })

    testOnce('sends a token', async () => {
      const { page, connect, call } = await open(revision)
      await call('whoami')
      await says('nobody')
      await connect(revision, 'ada')
      await call('whoami')
      await says('ada')
      await page.getByText(/^Connected as the principal of the token/).waitFor()
    })

    testOnce('connects as a test user', async () => {
      const { page, call, result } = await open(revision)
      await page.getByLabel('Subject').fill('Ada Łovelace')
      await page.getByLabel('Scopes').fill(' notes:read  notes:write ')
      await page.getByLabel('Tenant').fill('acme')
      await page.getByLabel('Other claims').fill('{"email":"ada@acme.example"}')
      await page.getByRole('button', { name: 'Connect', exact: true }).click()
      await page.getByText(/^Connected as the test user Ada Łovelace to/).waitFor()
      await call('principal')
      await says(/Ada/)
      expect(JSON.parse(await result.locator('pre').innerText())).toEqual({
        issuer: server.url.origin,
        subject: 'Ada Łovelace',
        client: 'edgemcp-inspector',
        tenant: 'acme',
        scopes: ['notes:read', 'notes:write'],
        claims: { email: 'ada@acme.example', sub: 'Ada Łovelace', scope: 'notes:read notes:write' },
      })
    })
  })

  test.each(sample(['ada@acme.example', '["ada"]'], 2))('reports invalid claims: %s', async (claims) => {
    const { page } = await open()
    await page.getByLabel('Subject').fill('Ada')
    await page.getByLabel('Other claims').fill(claims)
    await page.getByRole('button', { name: 'Connect', exact: true }).click()
    await page.getByText('Other claims must be a JSON object, such as {"email":"ada@example.com"}').waitFor()
    await page.getByText('Not connected').waitFor()
    await page.getByLabel('Other claims').fill('')
    await page.getByRole('button', { name: 'Connect', exact: true }).click()
    await page.getByText(/^Connected as the test user Ada to/).waitFor()
  })

  test.each(sample(withForms, 2))('fills in an elicited form, as a client of %s', async (revision) => {
    const { call, question } = await open(revision)
    await call('ask')
    await question.getByText('Who are you?').waitFor()
    await question.getByLabel('name').fill('Ada')
    await question.getByLabel('colour').selectOption('green')
    await question.getByRole('button', { name: 'Accept' }).click()
    await question.getByText('Really?').waitFor()
    await question.getByLabel('sure').check()
    await question.getByRole('button', { name: 'Accept' }).click()
    await says('Ada green true')
    await call('ask')
    await question.getByRole('button', { name: 'Decline' }).click()
    await says('No name: decline')
    await call('ask')
    await question.getByRole('button', { name: 'Cancel' }).click()
    await says('No name: cancel')
  })

  test.each(sample(withPages, 2))(
    'shows an elicited URL before it opens the URL, as a client of %s',
    async (revision) => {
      const { call, question } = await open(revision)
      await call('visit')
      expect(await question.innerText()).toContain('https://example.com/sign-in?flow=1')
      const link = question.getByRole('link', { name: 'Open the page' })
      expect(await link.getAttribute('rel')).toBe('noopener noreferrer')
      await question.getByRole('button', { name: 'I agree' }).click()
      await says('The page: accept')
    },
  )

  describe('a form', () => {
    test('sends each field with its type', async () => {
      const { page, choose } = await open()
      await choose('shape')
      const form = page.locator('.chosen form')
      await form.getByLabel('text').fill('a text')
      await form.getByLabel('count').fill('3')
      await form.getByLabel('ratio').fill('0.5')
      await form.getByLabel('sure').check()
      await form.getByLabel('maybe').selectOption('no')
      await form.getByLabel('colour').selectOption('green')
      await form.getByLabel('street').fill('Main Street')
      for (const [index, tag] of ['one', 'two', 'three'].entries()) {
        await form.getByRole('button', { name: 'Add to tags' }).click()
        await form.getByRole('textbox', { name: `tags ${index + 1}`, exact: true }).fill(tag)
      }
      await form.getByRole('button', { name: 'Remove tags 2' }).click()
      await form.getByLabel('sugar').check()
      await form.getByLabel('Which either').selectOption('phone')
      await form.getByRole('textbox', { name: 'phone' }).fill('123')
      await form.getByRole('button', { name: 'Call' }).click()
      await says(/done/)
      expect(JSON.parse(await opened.result.locator('pre').innerText())).toEqual({
        text: 'a text',
        count: 3,
        ratio: 0.5,
        sure: true,
        maybe: false,
        colour: 'green',
        place: { street: 'Main Street' },
        tags: ['one', 'three'],
        toppings: ['sugar'],
        either: { phone: '123' },
        size: 7,
      })
    })

    test('accepts invalid input, so that the server reports the error', async () => {
      const { page, choose } = await open()
      await choose('shape')
      await page.getByLabel('count').fill('many')
      await page.getByRole('button', { name: 'Call' }).click()
      await says(/failed/)
      await says(/count/)
    })

    test('can be edited as JSON and as fields', async () => {
      const { page, choose } = await open()
      await choose('shape')
      await page.getByLabel('text').fill('kept')
      await page.getByRole('button', { name: 'Edit as JSON' }).click()
      const json = page.getByLabel('Arguments as JSON')
      expect(JSON.parse(await json.inputValue())).toMatchObject({ text: 'kept', size: 7 })
      await json.fill('{ no JSON')
      await page.getByRole('button', { name: 'Call' }).click()
      await page.getByText('Invalid JSON').waitFor()
      expect(await page.locator('.call').count()).toBe(0)
      await json.fill('{"text":"changed","count":2}')
      await page.getByRole('button', { name: 'Edit as a form' }).click()
      expect(await page.getByLabel('text').inputValue()).toBe('changed')
      expect(await page.getByLabel('count').inputValue()).toBe('2')
    })
  })

  test('inserts texts of a server as text, never as markup', async () => {
    const { page, call } = await open()
    await call('markup')
    await says('<script>alert(1)</script>')
    expect(await page.locator('.description').innerText()).toBe('<img src=x onerror=alert(1)>')
    await opened.result.getByRole('button', { name: 'Read note://1' }).click()
    await says(/note 1, version/)
  })

  test('refreshes a changed list, and keeps the form that is filled in', async () => {
    const { page, choose } = await open()
    await choose('shape')
    await page.getByLabel('text').fill('kept')
    await using other = await connect(server.url, { revision: stateless })
    await other.callTool('bring')
    await page.locator('.offers [data-id="late"]').waitFor()
    expect(await page.getByLabel('text').inputValue()).toBe('kept')
  })

  describe('after a reload of the server', () => {
    const reload = async () => {
      // The browser tells of the connections that the reload breaks.
      expected = /ERR_(?:CONNECTION|EMPTY|INCOMPLETE|ABORTED)|Failed to load/
      await server.reload()
    }

    test('connects again, with the form, the subscriptions and the settings', async () => {
      const { page, call, choose } = await open('2025-11-25')
      await choose('note://1')
      await page.getByRole('button', { name: 'Subscribe' }).click()
      await page.getByText('Subscribed to note://1').waitFor()
      await choose('shape')
      await page.getByLabel('text').fill('kept')
      await page.getByLabel('Which either').selectOption('phone')
      await page.getByRole('textbox', { name: 'phone' }).fill('123')
      const connected = page.locator('[data-state="connected"]')
      const session = await connected.innerText()
      await reload()
      await connected.filter({ hasNotText: session }).waitFor()
      expect(await page.getByLabel('text').inputValue()).toBe('kept')
      await call('touch')
      await expect.poll(() => page.locator('.happenings').innerText(), patience).toContain('resources/updated note://1')
      // As after a reload of the page.
      await choose('shape')
      expect(await page.getByLabel('text').inputValue()).toBe('kept')
      expect(await page.getByRole('textbox', { name: 'phone' }).inputValue()).toBe('123')
    })

    test('stays disconnected when the developer has disconnected', async () => {
      const { page } = await open()
      await page.getByRole('button', { name: 'Disconnect' }).click()
      await page.waitForSelector('[data-state="closed"]')
      const followed = page.waitForRequest((request) => request.url().endsWith('?inside=reload'))
      await reload()
      await (await followed).response()
      expect(await page.locator('.connection').getAttribute('data-state')).toBe('closed')
    })

    test('names a key of an earlier start, and continues when the new link is opened', async () => {
      const { page } = await open()
      await page
        .context()
        .addCookies([{ name: `edgemcp-inspector-${server.url.port}`, value: 'earlier', url: server.url.origin }])
      await reload()
      const alert = page
        .locator('.problem')
        .getByText('The inspector key of this browser is of an earlier start of the server')
      await alert.waitFor()
      await page.waitForSelector('[data-state="connected"]')
      await page.context().addCookies([
        {
          name: `edgemcp-inspector-${server.url.port}`,
          value: inspectorSecrets.EDGEMCP_INSPECTOR_KEY,
          url: server.url.origin,
        },
      ])
      await page.evaluate(() => dispatchEvent(new Event('focus')))
      await alert.waitFor({ state: 'detached' })
    })
  })

  test('keeps what was entered when the page is reloaded', async () => {
    const { page, choose } = await open()
    await page.getByLabel('Bearer token').fill('ada')
    await page.getByLabel('Sampling', { exact: true }).uncheck()
    await choose('greet')
    await page.getByLabel('name', { exact: false }).last().fill('grace')
    await choose('shape')
    await page.getByLabel('text').fill('kept')
    await page.getByRole('button', { name: 'Add to tags' }).click()
    await page.getByRole('textbox', { name: 'tags 1', exact: true }).fill('one')
    await page.getByRole('button', { name: 'Edit as JSON' }).click()
    await page.reload()
    await page.getByText(/^Connected as the principal of the token/).waitFor()
    expect(await page.getByLabel('Sampling', { exact: true }).isChecked()).toBe(false)
    expect(JSON.parse(await page.getByLabel('Arguments as JSON').inputValue())).toMatchObject({
      text: 'kept',
      tags: ['one'],
    })
    await choose('greet')
    expect(await page.getByLabel('name', { exact: false }).last().inputValue()).toBe('grace')
  })

  describe('a task', () => {
    const task = () => opened.page.locator('.task').first()

    test.each(['poll', 'listen', 'wait'])('is followed to its end: %s', async (how) => {
      const { call, question } = await open()
      await call('brew')
      await task().getByLabel('Follow by').selectOption(how)
      if (how === 'wait') await task().getByRole('button', { name: 'Check now' }).click()
      await question.getByText('With milk?').waitFor()
      await question.getByLabel('milk').check()
      await question.getByRole('button', { name: 'Accept' }).click()
      if (how === 'wait') {
        await expect
          .poll(async () => {
            const look = task().getByRole('button', { name: 'Check now' })
            // It goes when the task is over.
            await look.click({ timeout: 200 }).catch(() => {})
            return task().innerText()
          }, patience)
          .toContain('Tea with milk')
      }
      await expect.poll(() => task().innerText(), patience).toMatch(/completed[\s\S]*Tea with milk/)
    })

    test('is cancelled', async () => {
      const { call, page, question } = await open()
      await call('brew')
      await question.waitFor()
      await task().getByRole('button', { name: 'Cancel task' }).click()
      await expect.poll(() => task().innerText(), patience).toContain('cancelled')
      expect(await page.locator('.question').count()).toBe(0)
    })
  })

  describe('a task of 2025-11-25', () => {
    const task = () => opened.page.locator('.task').first()

    test('requests input, shows status notifications, and shows its result', async () => {
      const { call, page, question } = await open('2025-11-25')
      await call('brew')
      await question.getByText('With milk?').waitFor()
      await expect.poll(() => task().innerText(), patience).toContain('input_required')
      await expect.poll(() => page.locator('.happenings').innerText(), patience).toMatch(/tasks\/status/)
      await question.getByLabel('milk').check()
      await question.getByRole('button', { name: 'Accept' }).click()
      await expect.poll(() => task().innerText(), patience).toMatch(/completed[\s\S]*Tea with milk/)
      expect(await task().getByRole('button').count()).toBe(0)
    })

    test('is cancelled', async () => {
      const { call, page, question } = await open('2025-11-25')
      await call('brew')
      await question.waitFor()
      await task().getByRole('button', { name: 'Cancel task' }).click()
      await expect.poll(() => task().innerText(), patience).toContain('cancelled')
      await expect.poll(() => page.locator('.question').count(), patience).toBe(0)
      expect(await task().locator('.bad').count()).toBe(0)
    })

    test('is a normal call when "As a task" is unchecked', async () => {
      const { choose, page, question } = await open('2025-11-25')
      await choose('brew')
      await page.getByLabel('As a task').uncheck()
      await page.getByRole('button', { name: 'Call', exact: true }).click()
      await question.getByRole('button', { name: 'Decline' }).click()
      await says(/Tea: decline/)
      expect(await task().count()).toBe(0)
    })

    test('is not offered for tools without task support', async () => {
      const { choose, page } = await open('2025-06-18')
      await choose('brew')
      await page.getByRole('button', { name: 'Call', exact: true }).waitFor()
      expect(await page.getByLabel('As a task').count()).toBe(0)
    })
  })

  describe('Durable Objects', () => {
    const objects = (className: string) => opened.page.locator(`.objects > [data-class="${className}"]`)
    const unfold = () => opened.page.getByText('Durable Objects', { exact: true }).click()

    test('show the rows that they store: a session with its event log', async () => {
      const { call, question } = await open('2025-11-25')
      await unfold()
      const session = objects('McpSession').first()
      await session.locator('summary').first().click()
      await call('ask')
      await question.waitFor()
      const events = session.getByRole('region', { name: 'events' })
      await expect.poll(() => events.innerText(), patience).toMatch(/elicitation\/create/)
      expect(await session.getByRole('region', { name: 'calls' }).innerText()).toContain('tools/call')
      expect(await session.getByRole('region', { name: 'questions' }).innerText()).toContain('name')
      // It is looked at again by itself.
      await question.getByRole('button', { name: 'Decline' }).click()
      await says(/No name: decline/)
      await expect.poll(() => session.getByRole('region', { name: 'questions' }).count(), patience).toBe(0)
      await events.locator('summary', { hasText: '"result"' }).click()
      await expect.poll(() => events.innerText(), patience).toMatch(/result: .*No name: decline/)
    })

    test('show the rows that they store: a task, and a key ring without its keys', async () => {
      const { call, question, page } = await open()
      await call('brew')
      await question.waitFor()
      await unfold()
      const task = objects('McpTask').first()
      await task.locator('summary').first().click()
      await expect.poll(() => task.locator('.contents').innerText(), patience).toMatch(/brew[\s\S]*milk/)
      const keys = objects('McpSession').filter({ hasText: 'keys' }).first()
      await keys.locator('summary').first().click()
      await expect.poll(() => keys.locator('.contents').innerText(), patience).toContain('(not shown)')
      await page.getByRole('button', { name: 'Refresh', exact: true }).click()
      await expect.poll(() => task.locator('.contents').innerText(), patience).toContain('milk')
    })

    test.each(sample(transports, 2))('shows the timings of a request: a client of %s', async (revision) => {
      const { page, call } = await open(revision)
      await call('whoami')
      await says(/nobody/)
      const sent = page.locator('.frames > li', { hasText: 'tools/call' }).first()
      await sent.locator('summary').first().click()
      await sent.locator('summary', { hasText: 'HTTP:' }).click()
      const hops = sent.locator('.hops')
      await hops.waitFor()
      const words = await hops.innerText()
      expect(words).toMatch(/browser, until the response headers\s+\d+ ms\s+in the Worker\s+\d+ ms/)
      expect(words).toMatch(/handler: tools\/call whoami\s+\d+ ms/)
      expect(words.includes('Durable Object: McpSession')).toBe(revision !== stateless)
    })
  })

  describe('a connection', () => {
    const alerts = (page: Page) => page.locator('[role="alert"]').allInnerTexts()

    // Chromium gives a body, which is empty, to answers that have none.
    test.each(sample(withSession, 4))('logs responses without a body, as a client of %s', async (revision) => {
      const { page } = await open(revision)
      await page.getByRole('button', { name: 'Disconnect' }).click()
      await page.waitForSelector('[data-state="closed"]')
      const log = () => page.locator('.frames > li').allInnerTexts()
      const answered = async (status: number) => (await log()).filter((line) => line.includes(`${status} · `))
      await expect.poll(async () => (await answered(204)).length, patience).toBeGreaterThan(0)
      for (const line of [...(await answered(202)), ...(await answered(204))]) expect(line).toContain('no body')
      expect((await log()).filter((line) => line.includes('no answer'))).toEqual([])
      expect((await alerts(page)).join('')).toBe('')
    })

    test('is established by Connect also while the choice of a version establishes one', async () => {
      const { page } = await open()
      // A session may have ended before the stream that was being opened for it.
      expected = /status of 404/
      for (const revision of [...withSession, ...withSession]) {
        await page.getByLabel('Protocol version').selectOption(revision)
        await page.getByRole('button', { name: 'Connect', exact: true }).click()
        await page.waitForSelector(`[data-state="connected"][data-revision="${revision}"]`)
        expect((await alerts(page)).join('')).toBe('')
      }
    })
  })

  describe('the wire log', () => {
    test('counts keep-alive comments', async () => {
      const { page } = await open('2025-11-25')
      const comments = page.locator('.frames > li', { hasText: 'a comment: keep-alive' })
      // Those of the connection before may be there as well.
      await expect.poll(() => comments.last().innerText(), patience).toMatch(/× [2-9]/)
      expect(await comments.count()).toBeLessThanOrEqual(2)
    })

    test.each(sample(transports, 2))(
      'has every frame that the server received or sent, as a client of %s',
      async (revision) => {
        await using relay = await startRelay(server.url)
        // The relay closes before the page, with the stream that follows reloads.
        expected = /ERR_INCOMPLETE_CHUNKED_ENCODING/
        opened = await openInspector(browser, relay.url, { permissions: ['clipboard-read', 'clipboard-write'] })
        const { page, call, question, connect } = opened
        await connect(revision)
        await call('ask_model')
        await question.getByRole('button', { name: 'Answer' }).click()
        await says(/The model says/)
        await page.getByRole('button', { name: 'Disconnect' }).click()
        await page.waitForSelector('[data-state="closed"]')
        const log = async () => {
          await page.getByRole('button', { name: 'Copy the wire log' }).click()
          const text = await page.evaluate(() => navigator.clipboard.readText())
          const frames = JSON.parse(text) as { direction: string; message?: unknown }[]
          const those = (direction: string) =>
            frames.filter((frame) => frame.direction === direction && typeof frame.message === 'object')
          return {
            sent: those('sent').map(({ message }) => message),
            received: those('received').map(({ message }) => message),
          }
        }
        await expect.poll(async () => sorted((await log()).sent), patience).toEqual(sorted(relay.sent))
        await expect.poll(async () => sorted((await log()).received), patience).toEqual(sorted(relay.received))
        expect(relay.sent.length).toBeGreaterThan(5)
      },
    )

    test('shows the headers of a frame, without the token', async () => {
      const { page, connect, call } = await open()
      await connect(stateless, 'a-secret')
      await call('whoami')
      await says('a-secret')
      const sent = page.locator('.frames li', { hasText: 'tools/call' }).first()
      await sent.locator('summary').first().click()
      await sent.getByText('HTTP: POST /mcp').click()
      const text = await sent.innerText()
      expect(text).toContain('"whoami"')
      expect(text).toMatch(/authorization: Bearer …/)
      expect(text).not.toContain('a-secret')
    })

    test('can be filtered and cleared', async () => {
      const { page } = await open()
      const rows = page.locator('.frames > li:visible')
      await page.getByLabel('Filter the wire log').fill('prompts/list')
      expect(await rows.count()).toBe(2)
      await page.getByRole('region', { name: 'Wire log' }).getByRole('button', { name: 'Clear' }).click()
      expect(await rows.count()).toBe(0)
    })
  })

  test('shows why the connection failed', async () => {
    const { page } = await open()
    await page.route('**/mcp', (route) => route.fulfill({ status: 503, body: 'Not now' }))
    await page.getByRole('button', { name: 'Connect', exact: true }).click()
    await expect.poll(() => page.locator('.problem').innerText(), patience).toContain('Not now')
    // The browser tells of the refusal too.
    ;(opened.problems as string[]).length = 0
  })
})

/** In one order, whatever came first. */
const sorted = (messages: readonly unknown[]): string[] => messages.map((message) => JSON.stringify(message)).sort()
