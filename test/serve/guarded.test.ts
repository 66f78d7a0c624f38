import { afterEach, expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { logText, startServer } from '../support/server.ts'

afterEach(() => vi.unstubAllEnvs())

const production = () => vi.stubEnv('NODE_ENV', 'production')

const call = async (url: URL) => {
  const client = await connect(url, { revision: '2026-07-28' })
  return client.callTool('secret')
}

const wrong = (value: string) => `"interceptor(runtime)" of the plugin "guard" must be a function, not ${value}`

test.each<[policy: string, given: Record<string, string>, value: string]>([
  ['empty', { POLICY: '' }, '""'],
  ['absent', {}, 'undefined'],
])('a deployment whose guard is made of an %s policy serves nobody, and logs why', async (_, given, value) => {
  production()
  await using server = await startServer('test/serve/guarded', given)
  await expect(call(server.url)).rejects.toThrow('Internal error')
  await expect.poll(() => logText(server)).toContain(wrong(value))
})

test('a deployment whose guard has its policy forbids the call', async () => {
  production()
  await using server = await startServer('test/serve/guarded', { POLICY: 'strict' })
  await expect(call(server.url)).rejects.toThrow('The policy "strict" forbids it')
})

test('in development, any request says what is wrong with the guard', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  await using server = await startServer('test/serve/guarded', { POLICY: '' })
  const response = await fetch(server.url, { method: 'OPTIONS' })
  expect(response.status).toBe(500)
  expect(await response.text()).toContain(wrong('""'))
})
