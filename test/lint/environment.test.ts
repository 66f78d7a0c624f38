/** The lint rule that keeps test files of one process apart: environment.grit. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const biome = resolve(import.meta.dirname, '../../node_modules/.bin/biome')

// Biome runs no plugins on its standard input.
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'edgemcp-lint-'))
  const plugins = [resolve(import.meta.dirname, 'environment.grit')]
  writeFileSync(join(folder, 'biome.json'), JSON.stringify({ plugins }))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What Biome says of a test file with this code. */
function lint(code: string): string {
  writeFileSync(join(folder, 'some.test.ts'), code)
  const { stdout, stderr } = spawnSync(biome, ['lint', '.'], { cwd: folder, encoding: 'utf8' })
  return stdout + stderr
}

test.each([
  "process.env.NODE_ENV = 'development'",
  "process.env['NODE_ENV' as string] = 'development'",
  "process.env.NODE_ENV ??= 'development'",
  'delete process.env.NODE_ENV',
  "Object.assign(process.env, { NODE_ENV: 'development' })",
  "beforeAll(() => { process.env.NODE_ENV = 'development' })",
])('a test file may not change process.env: %s', (code) => {
  expect(lint(code)).toContain('A test must not change process.env')
})

test.each([
  "vi.stubEnv('NODE_ENV', 'development')",
  "describe('a server', () => { vi.stubEnv('NODE_ENV', 'development') })",
])('a test file may not stub the environment while tests are collected: %s', (code) => {
  expect(lint(code)).toContain('vi.stubEnv() must not run while tests are collected')
})

test.each([
  "beforeAll(async () => { vi.stubEnv('NODE_ENV', 'development') })",
  "test('a server', () => { vi.stubEnv('NODE_ENV', 'development') })",
  "export async function start() { vi.stubEnv('NODE_ENV', 'development') }",
])('a hook, a test or a function may: %s', (code) => {
  const said = lint(code)
  expect(said).toContain('No fixes applied')
  expect(said).not.toContain('vi.stubEnv()')
})
