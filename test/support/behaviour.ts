/**
 * One suite for every protocol version. A behavior runs for each client. A version that cannot have it is listed with the
 * reason, and with a check of what happens instead.
 */
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type ConnectOptions, connect, everyRevision, type TestClient } from '../../worker/testing/index.ts'
import { startEverything, type TestServer } from './server.ts'
import { wireTruth } from './wire-truth.ts'

export type ClientKind = { name: string; revision: string; sse: boolean }

export const withoutSessions = everyRevision.filter((revision) => revision >= '2026-07-28')
export const withSessions = everyRevision.filter((revision) => revision < '2026-07-28')

/** Every protocol version over its own transport, and HTTP+SSE with the newest version that can use it. */
export const everyClient: readonly ClientKind[] = [
  ...everyRevision.map((revision) => ({ name: revision, revision, sse: revision === '2024-11-05' })),
  { name: '2024-11-05 over Streamable HTTP', revision: '2024-11-05', sse: false },
  { name: '2025-11-25 over HTTP+SSE', revision: '2025-11-25', sse: true },
]

export type Scene = {
  kind: ClientKind
  server: TestServer
  /** Connects another client of this kind; it is closed when the test ends. */
  connect(options?: Omit<ConnectOptions, 'revision' | 'sse'>): Promise<TestClient>
}

type Check = (scene: Scene) => Promise<void>

/** Protocol versions that cannot have a behavior: the reason, and what such a client gets instead. */
export type Cannot = { revisions: readonly string[]; because: string; instead: Check }

export function behaviour(title: string, check: Check, ...cannot: readonly Cannot[]): void {
  describe(title, () => {
    for (const kind of everyClient) {
      const reason = cannot.find(({ revisions }) => revisions.includes(kind.revision))
      if (reason) test(`${kind.name} cannot: ${reason.because}`, () => play(kind, reason.instead))
      else test(kind.name, () => play(kind, check))
    }
  })
}

let server: TestServer

/** Starts the server of a file. Call it once in each file. */
export function withServer(): void {
  beforeAll(async () => {
    server = await startEverything()
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })
}

async function play(kind: ClientKind, check: Check): Promise<void> {
  const truth = wireTruth(kind.revision)
  const clients: TestClient[] = []
  try {
    await check({
      kind,
      server,
      async connect(options = {}) {
        const client = await connect(server.url, {
          ...options,
          revision: kind.revision,
          sse: kind.sse,
          onMessage(direction, message) {
            truth.see(direction, message)
            options.onMessage?.(direction, message)
          },
        })
        clients.push(client)
        return client
      },
    })
  } finally {
    await Promise.all(clients.map((client) => client.close()))
  }
  truth.check()
}
