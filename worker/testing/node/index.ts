/** edgemcp/testing/node: Start a Worker in workerd for tests in Node.js. */
import { resolve } from 'node:path'
import { createTestHarness, type TestHarness } from 'wrangler'
import { mintKeyRing } from '../../sealing/seal.ts'
import { type FakeIssuer, fakeIssuer } from '../fake-issuer.ts'
import type { ServerUnderTest } from '../objects.ts'
import { control } from './control.ts'
import { listen } from './listen.ts'

export { type ProviderOptions, type StartedProvider, startProvider } from './provider.ts'

/** Configures `startServer()`. */
export type StartOptions = {
  /** Path of the wrangler configuration of the Worker. */
  config: string
  /** Environment of the configuration. Default: none. */
  env?: string
  /** Variables that replace those of the configuration. Default: none. */
  vars?: Record<string, string>
  /** Secrets that replace those of the configuration. Default: new `EDGEMCP_KEYS`. */
  secrets?: Record<string, string>
  /** Path of the endpoint. Default: `/mcp`. */
  path?: string
}

/** Controls a Worker that runs in workerd. `startServer()` returns it. */
export interface RunningServer extends ServerUnderTest, AsyncDisposable {
  /** URL of the endpoint. */
  readonly url: URL
  /** The test harness of wrangler, for logs, bindings and storage. */
  readonly harness: TestHarness
  /** Stops the Worker. */
  close(): Promise<void>
}

/**
 * Starts a Worker in workerd, through wrangler, on a free port.
 *
 * @see https://developers.cloudflare.com/workers/testing/
 *
 * @example
 * const server = await startServer({ config: 'wrangler.toml' })
 * const client = await connect(server, { revision: '2025-11-25' })
 */
export async function startServer({ config, env, vars, secrets, path = '/mcp' }: StartOptions): Promise<RunningServer> {
  // The runtime would ask the network where it is.
  process.env.CLOUDFLARE_CF_FETCH_ENABLED ??= 'false'
  const configPath = resolve(config)
  const ring = secrets?.EDGEMCP_KEYS ?? freshKeys()
  const worker = { configPath, ...(env && { env }), ...(vars && { vars }), secrets: { ...secrets, EDGEMCP_KEYS: ring } }
  const harness = createTestHarness({ workers: [worker] })
  const { url } = await harness.listen()

  return {
    url: new URL(path, url),
    harness,
    ...control(harness, url, { config: configPath, env, ring }),
    close: () => harness.close(),
    [Symbol.asyncDispose]: () => harness.close(),
  }
}

/** Creates a key ring in the form of the secret `EDGEMCP_KEYS`. */
function freshKeys(): string {
  const { current, keys } = mintKeyRing()
  return `${current}:${keys[current]}`
}

/** Configures `startIssuer()`. */
export type IssuerOptions = {
  /** Port on which it listens. Default: one that is free. */
  port?: number
}

/**
 * Starts a fake issuer on this machine. Configure the server under test with its `issuer`.
 *
 * @example
 * const { issuer, tokenFor, close } = await startIssuer()
 * const server = await startServer({ config: 'wrangler.toml', vars: { ISSUER: issuer } })
 * const client = await connect(server, { revision: '2025-11-25', token: tokenFor({ sub: 'ada', scope: 'notes:read' }) })
 */
export async function startIssuer({
  port,
}: IssuerOptions = {}): Promise<FakeIssuer & { close(): Promise<void> } & AsyncDisposable> {
  let issuer: FakeIssuer | undefined
  const { url, close } = await listen((request) => issuer?.respond(request.url), port)
  issuer = await fakeIssuer(url)
  return { ...issuer, close, [Symbol.asyncDispose]: close }
}
