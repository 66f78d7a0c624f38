/** The first example of docs/guides/sign-in.md: a whole Worker, which compiles with the types that wrangler generates, and starts. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { errorsOf } from './compile.ts'
import { pageAt } from './pages.ts'

const path = 'docs/guides/sign-in.md'
const file = (name: string) => readFileSync(join(import.meta.dirname, 'sign-in', name), 'utf8')

/** What `wrangler types` generates for the variable and the secret of the page. */
const bindings =
  'declare global { namespace Cloudflare { interface Env { GITHUB_ID: string; GITHUB_SECRET: string } } }'

test('the page has the configuration', () => {
  expect(pageAt(path)?.blocks.find(({ language }) => language === 'toml')?.code).toBe(file('wrangler.toml'))
})

test('the example compiles with generated types', () => {
  const block = { language: 'ts', code: file('index.ts'), line: 1 }
  const code = `${block.code}\n${bindings}\n`
  expect(errorsOf([{ page: path, block, code, lines: [], isWhole: false }])).toEqual([])
})

test('the example starts, and its clients find where to sign in', async () => {
  await using server = await startServer('test/docs/sign-in', { GITHUB_SECRET: 'hush' })
  const { status, headers } = await fetch(server.url, { method: 'POST' })
  expect([status, headers.get('WWW-Authenticate')]).toEqual([401, expect.stringContaining('resource_metadata=')])
  const metadata = await fetch(new URL('/.well-known/oauth-authorization-server', server.url))
  expect(await metadata.json()).toMatchObject({ issuer: server.url.origin, scopes_supported: ['notes:read'] })
})
