/** Starts a Worker in real workerd behind a real port. */
import { resolve } from 'node:path'
import { createTestHarness, type TestHarness } from 'wrangler'

const root = resolve(import.meta.dirname, '../..')

export type TestServer = { url: URL; harness: TestHarness } & AsyncDisposable

/** @param folder where the wrangler.toml is, from the root of the repository */
export async function startServer(folder: string, secrets?: Record<string, string>): Promise<TestServer> {
  const harness = createTestHarness({ root, workers: [{ configPath: `${folder}/wrangler.toml`, secrets }] })
  const { url } = await harness.listen()
  return { url: new URL('/mcp', url), harness, [Symbol.asyncDispose]: () => harness.close() }
}

export const startEverything = () => startServer('test/support/everything')
