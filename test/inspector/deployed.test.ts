import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startServer('test/inspector/deployed')
})
afterAll(() => server?.harness.close())

const open = (host: string, init: { method?: string } = {}, path = '/') =>
  server.harness.fetch(`http://${host}.localhost:${server.url.port}${path}`, init)

test('a deployed server has an inspector only with the plugin inspector()', async () => {
  expect((await open('none')).status).toBe(404)
  expect((await open('open')).status).toBe(200)
  expect((await open('guarded')).status).toBe(200)
})

test('inspector() requires { open: true } or the auth of serve()', async () => {
  expect(await (await open('open', {}, '/start')).text()).toMatch(/pass it the auth of serve\(\), or \{ open: true \}/)
  expect((await open('other')).status).toBe(500)
})

test('the Content-Security-Policy allows the script and styles of the page, and requests to the server', async () => {
  const response = await open('open')
  const page = await response.text()
  const [, style = ''] = /<style>(.*?)<\/style>/s.exec(page) ?? []
  const [, script = ''] = /<script type="module">(.*)<\/script>/s.exec(page) ?? []
  const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  expect(response.headers.get('Content-Security-Policy')?.split('; ')).toEqual([
    `default-src 'none'`,
    `style-src ${hash(style)}`,
    `script-src ${hash(script)}`,
    `connect-src 'self'`,
    'img-src data:',
    'media-src data:',
    `require-trusted-types-for 'script'`,
    `trusted-types 'none'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ])
  expect(script).not.toContain('</script')
  expect(style).not.toContain('</style')
})

test('a deployed server has no callback URL, and nothing of what the inspector of development reads', async () => {
  const webhook = await open('open', { method: 'POST' }, '/?inside=receiver')
  expect(webhook.status).toBe(405)
  for (const query of ['receiver', 'events']) {
    const page = await (await open('open', {}, '/')).text()
    expect(await (await open('open', {}, `/?inside=${query}`)).text()).toBe(page)
    expect((await open('open', { method: 'POST' }, `/?inside=${query}&answer=410`)).status).toBe(405)
  }
})

test('the page contains the escaped server name and the endpoint path', async () => {
  const page = await (await open('open')).text()
  expect(page).toContain('<title>&#60;i&#62;Deployed&#60;/i&#62; – inspector</title>')
  expect(page).toContain('<body data-mcp="/api/mcp">')
  expect(page).not.toContain('7.7.7')
  expect(page).not.toContain('role="note"')
})

test('HEAD returns the headers of the page without a body', async () => {
  const head = await open('open', { method: 'HEAD' })
  expect(head.headers.get('Content-Security-Policy')).toBe((await open('open')).headers.get('Content-Security-Policy'))
  expect(await head.text()).toBe('')
})
