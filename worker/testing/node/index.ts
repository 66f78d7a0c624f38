/** edgemcp/testing/node: for tests that run in Node, beside a Worker in real workerd behind a real port. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { createTestHarness, type TestHarness, unstable_readConfig } from 'wrangler'
import { mintKeyRing, parseKeyRing } from '../../sealing/seal.ts'
import { type FakeIssuer, fakeIssuer } from '../fake-issuer.ts'
import { objectOf, type ServerUnderTest } from '../objects.ts'
import { type Advance, advancePath } from '../timed/advance.ts'
import { evict } from './evict.ts'

export type StartOptions = {
  /** The wrangler configuration of the Worker. */
  config: string
  /** One of its environments. */
  env?: string
  /** Variables and secrets in the place of those that are configured. */
  vars?: Record<string, string>
  secrets?: Record<string, string>
  /** Where its endpoint is. Default `/mcp`. */
  path?: string
}

export interface RunningServer extends ServerUnderTest, AsyncDisposable {
  /** The address of its endpoint. */
  readonly url: URL
  /** Wrangler's, for everything else: logs, bindings, storage. */
  readonly harness: TestHarness
  close(): Promise<void>
}

/**
 * Starts a Worker.
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

  async function stored(): Promise<Advance['objects']> {
    const { migrations } = unstable_readConfig({ config: configPath, env }, { hideWarnings: true })
    const lists = classesOf(migrations).map(async (name) => {
      const ids = await harness.getWorker().listDurableObjectIds(name)
      return ids.map((id) => ({ class: name, id }))
    })
    return (await Promise.all(lists)).flat()
  }

  return {
    url: new URL(path, url),
    harness,
    async evict(kept, { class: className, webSockets = 'hibernate' } = {}) {
      if (!kept) {
        await Promise.all((await stored()).map(({ class: name, id }) => evict(harness, name, { id }, webSockets)))
        return
      }
      const { class: name, ...which } = await objectOf(kept, parseKeyRing(ring), className)
      await evict(harness, name, which, webSockets)
    },
    async advance(milliseconds) {
      const body = JSON.stringify({ milliseconds, objects: await stored() } satisfies Advance)
      const response = await fetch(new URL(advancePath, url), { method: 'POST', body })
      // As withTestClock answers.
      const { problem } = response.ok ? ((await response.json()) as { problem?: string }) : { problem: withoutClock }
      if (problem) throw new Error(problem)
    },
    close: () => harness.close(),
    [Symbol.asyncDispose]: () => harness.close(),
  }
}

const withoutClock =
  'This Worker has the clock of the environment. To let time pass from outside, test one whose main exports withTestClock(main) of edgemcp/testing/timed; or run the test inside workerd, with edgemcp/testing/workers'

/** As a secret has them. */
function freshKeys(): string {
  const { current, keys } = mintKeyRing()
  return `${current}:${keys[current]}`
}

type Migrations = ReturnType<typeof unstable_readConfig>['migrations']

/** Names of the classes of Durable Objects, as the migrations leave them. */
function classesOf(migrations: Migrations): string[] {
  const names = new Set<string>()
  for (const { new_classes, new_sqlite_classes, renamed_classes, deleted_classes } of migrations) {
    for (const name of [...(new_classes ?? []), ...(new_sqlite_classes ?? [])]) names.add(name)
    for (const { from, to } of renamed_classes ?? []) {
      names.delete(from)
      names.add(to)
    }
    for (const name of deleted_classes ?? []) names.delete(name)
  }
  return [...names]
}

/** A fake issuer at an address of this machine: configure the server under test with its `issuer`. */
export async function startIssuer(): Promise<FakeIssuer & { close(): Promise<void> } & AsyncDisposable> {
  let issuer: FakeIssuer | undefined
  const httpServer = createServer(async ({ url = '/', headers }, answer) => {
    const response = issuer?.respond(`http://${headers.host}${url}`)
    answer.writeHead(response?.status ?? 404, { 'Content-Type': 'application/json' })
    answer.end(await response?.text())
  })
  await new Promise<void>((listening) => httpServer.listen(0, '127.0.0.1', listening))
  // It listens on a port, not on a socket of the file system.
  issuer = await fakeIssuer(`http://127.0.0.1:${(httpServer.address() as AddressInfo).port}`)
  const close = () =>
    new Promise<void>((closed) => {
      httpServer.close(() => closed())
      httpServer.closeAllConnections()
    })
  return { ...issuer, close, [Symbol.asyncDispose]: close }
}
