/** A deployment checks declarations and options as development does, in the same words. It lacks proposals of names. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

beforeEach(() => {
  vi.stubEnv('NODE_ENV', 'production')
  // Modules may read the environment when they load.
  vi.resetModules()
})

afterEach(() => {
  vi.unstubAllEnvs()
  vi.resetModules()
})

// biome-ignore lint/suspicious/noExplicitAny: JavaScript has no types that would refuse these declarations
type Untyped = any

test.each<[what: string, declare: (server: Untyped) => unknown, problem: string]>([
  [
    'a tool without a description',
    (server) => server.tool('t', {}, () => ''),
    'The tool "t" needs a description: models choose tools by it',
  ],
  [
    'a tool without a handler',
    (server) => server.tool('t', { description: 'd' }),
    'The tool "t" needs a handler as its third argument',
  ],
  [
    'a name that clients refuse',
    (server) => server.tool('a tool', { description: 'd' }, () => ''),
    'The tool name "a tool" must be 1 to 128 letters, digits, "_", "." or "-"',
  ],
  [
    'a member with a wrong value',
    (server) => server.tool('t', { description: 'd', annotations: { readOnlyHint: 'yes' } }, () => ''),
    '"annotations.readOnlyHint" of tool "t" must be true or false, not "yes"',
  ],
  [
    'a misspelled member',
    (server) => server.tool('t', { description: 'd', scope: ['read'] }, () => ''),
    'tool "t" does not take "scope": it takes title, description, ',
  ],
  [
    'a member that another library has',
    (server) => server.tool('t', { description: 'd', parameters: {} }, () => ''),
    'tool "t" does not take "parameters": it takes title, description, ',
  ],
  [
    'a tool that is declared as in another library',
    (server) => server.tool('t', 'A tool', {}, () => ''),
    'tool "t" takes an object with title, description, ',
  ],
  [
    'a resource without a scheme',
    (server) => server.resource('note', { description: 'd' }, () => ''),
    'The resource "note" needs a URI with a scheme, such as "note://note"',
  ],
  ['a prompt without a name', (server) => server.prompt('', { description: 'd' }, () => ''), 'A prompt needs a name'],
  [
    'an invalid module',
    (server) => server.use({}),
    '"module" of server.use() must be a function such as the result of mount(server), not an object',
  ],
  [
    'an invalid interceptor',
    (server) => server.intercept({}),
    '"interceptor" of server.intercept() must be a function, not an object',
  ],
  [
    'a method of the official SDK',
    (server) => server.registerTool('t', {}, () => ''),
    'server.registerTool is not a function',
  ],
])('%s', async (_, declare, problem) => {
  const { createServer } = await import('../../worker/declarations/server.ts')
  const server = createServer({ name: 'test', version: '1' })
  expect(() => declare(server)).toThrow(problem)
})

test('a server without a version', async () => {
  const { createServer } = await import('../../worker/declarations/server.ts')
  expect(() => createServer({ name: 'test' } as Untyped)).toThrow(
    '"version" of createServer() must be a non-empty string',
  )
})

test('image data that is not base64', async () => {
  const { image } = await import('../../worker/declarations/content.ts')
  expect(() => image('data:image/png;base64,AAAA', 'image/png')).toThrow('"data" of image() must be a Uint8Array')
})

test('a policy without origins', async () => {
  const { policies } = await import('../../worker/http/policies.ts')
  expect(() => policies.browser({ origins: [] })).toThrow('policies.browser() needs origins')
})
