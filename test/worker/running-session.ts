/** Runs sessions of one object, with its storage. */
import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { createServer } from 'edgemcp'
import { vi } from 'vitest'
import type { AddedParts } from '../../durable-objects/session/added-parts.ts'
import { Session } from '../../durable-objects/session/object.ts'
import type { SessionHost } from '../../durable-objects/session/session-host.ts'
import { sessionSettings, week } from './session-post.ts'

const { McpSession } = exports as unknown as { McpSession: DurableObjectNamespace }

export type Running = {
  readonly session: Session
  /** Returns the next instance of the object, after the last one was lost. */
  next(host?: Partial<SessionHost>): Session
  readonly storage: DurableObjectStorage
  sockets(): WebSocket[]
  readonly name: string
  readonly reported: unknown[]
  /** The reasons with which the object gave its instance up, which goes on here. */
  readonly aborted: unknown[]
}

/** Runs a session whose host differs from the default in some members. */
export async function running(
  host: Partial<SessionHost>,
  use: (running: Running) => Promise<void>,
  added: AddedParts = {},
): Promise<void> {
  const name = crypto.randomUUID()
  const reported: unknown[] = []
  const aborted: unknown[] = []
  const server = host.server ?? createServer({ name: 'test', version: '1.0.0' })
  const defaults = {
    server,
    life: week,
    options: sessionSettings,
    at: () => ({ server, seals: () => ({}) }),
    countRoundOf: () => undefined,
    report: (problem: unknown) => reported.push(problem),
  }
  await runInDurableObject(McpSession.getByName(name), async (_, state) => {
    vi.spyOn(state, 'abort').mockImplementation(((reason: unknown) => void aborted.push(reason)) as never)
    // Only what these tests use of a host.
    const next = (changed: Partial<SessionHost> = {}) =>
      new Session(state, {} as never, { ...defaults, ...host, ...changed } as unknown as SessionHost, added)
    await use({
      session: next(),
      next,
      storage: state.storage,
      sockets: () => state.getWebSockets(),
      name,
      reported,
      aborted,
    })
    vi.restoreAllMocks()
    await state.storage.deleteAll()
  })
}
