/** What a Worker prints in development before anybody has asked it for anything. */
import { afterEach, expect, test, vi } from 'vitest'
import { startServer } from '../support/server.ts'

afterEach(() => vi.unstubAllEnvs())

/** The link to the inspector is printed at the first request. */
const inspector = 'edgemcp: the inspector'

/** What is printed at the start, and at the first request. @param fence what is printed after that */
async function printedBy(folder: string, fence: string, secrets?: Record<string, string>): Promise<string[]> {
  vi.stubEnv('NODE_ENV', 'development')
  await using server = await startServer(folder, secrets)
  const lines = () => server.harness.getLogs().map(({ message }) => message)
  await (await fetch(new URL('/', server.url))).text()
  await vi.waitFor(() => expect(lines().join()).toContain(fence))
  return lines().filter((line) => line.startsWith('edgemcp '))
}

test.each([
  [
    'before Durable Objects have RPC',
    'test/development/old-date',
    'there is no RPC to Durable Objects, so input requests, sessions and limits fail',
  ],
  [
    'before alarms are deleted',
    'test/development/effects-by-stack',
    'the Durable Objects of ended sessions are not deleted',
  ],
])('a compatibility date %s causes a warning with the oldest date that works', async (_, folder, effect) => {
  expect(await printedBy(folder, inspector)).toEqual([
    `edgemcp needs compatibility_date = "2026-02-24" or newer in wrangler.toml: with the date of this Worker, ${effect}`,
  ])
})

test.each(['abc', 'a:c2hvcnQ', `a:${'k'.repeat(43)},a:${'l'.repeat(43)}`])(
  'the malformed keys %s cause a warning with the expected format',
  async (keys) => {
    expect(await printedBy('examples/hello', inspector, { EDGEMCP_KEYS: keys })).toEqual([
      'edgemcp cannot use its keys, so input requests and sessions fail: The secret EDGEMCP_KEYS must be a comma-separated list of "id:key": ids differ, keys are 32 bytes in base64url',
    ])
  },
)

test('a correct Worker prints no warnings', async () => {
  expect(await printedBy('examples/hello', inspector, { EDGEMCP_KEYS: `a:${'k'.repeat(43)}` })).toEqual([])
  expect(await printedBy('test/serve/pair', inspector)).toEqual([])
})
