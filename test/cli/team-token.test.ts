/** The script of the template `team` that prints tokens of a local issuer. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'edgemcp-token-'))

beforeAll(() => {
  cpSync(join(root, 'cli/init/templates/team/scripts'), join(folder, 'scripts'), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const print = (...args: string[]) =>
  execFileSync(process.execPath, ['scripts/token.mjs', ...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: 'pipe',
  }).trim()

test('a token has both host names of the local server as audience', () => {
  expect(decodeJwt(print())).toMatchObject({
    sub: 'ada',
    org_id: 'acme',
    aud: ['http://localhost:8787/mcp', 'http://127.0.0.1:8787/mcp'],
  })
})

test('the audience of a token has the port of --port', () => {
  expect(decodeJwt(print('eve', 'other', 'projects:read', '--port', '9000'))).toMatchObject({
    sub: 'eve',
    org_id: 'other',
    scope: 'projects:read',
    aud: ['http://localhost:9000/mcp', 'http://127.0.0.1:9000/mcp'],
  })
})

test('an invalid port is an error', () => {
  expect(() => print('--port', 'http')).toThrow('--port must be a number from 1 to 65535, not "http"')
})

test('tokens are signed with the key in .dev.vars', async () => {
  const token = print()
  const [, keys = ''] = /^KEYS='(.*)'$/m.exec(readFileSync(join(folder, '.dev.vars'), 'utf8')) ?? []
  const { payload } = await jwtVerify(token, createLocalJWKSet(JSON.parse(keys)))
  expect(payload.iss).toBe('https://issuer.local')
})
