/** Starts the server whose objects can be asked what they hold. */
import { randomBytes } from 'node:crypto'
import { parseKeyRing, sealer } from '../../../worker/auth/seal.ts'
import type { Limits } from '../../../worker/http/limits.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import type { Inventory } from './inventory.ts'

/** Those options of `serve` that matter here. */
export type LeakyOptions = {
  limits?: Partial<Limits>
  sessions?: { ttl?: number; log?: { age?: number; count?: number; bytes?: number } }
}

/** `alone`: once it has no sockets any more. `due`: after its alarm has been set to now, if it has one. */
type When = { alone?: boolean; due?: boolean }

/** Milliseconds an object may take until it is alone. */
const patience = 25_000

export type LeakyServer = TestServer & {
  /** The name of a session's object. */
  nameOf(session: string): Promise<string>
  /** What a session's object holds. */
  session(name: string, when?: When): Promise<Inventory>
  /** What the Updates object holds. */
  updates(when?: When): Promise<Inventory>
  /** Streams of a session that wait for an answer. */
  openStreams(name: string): Promise<number>
}

// Not only under the test runner.
Object.assign(process.env, {
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_LOG: 'none',
})

export async function startLeaky(options: LeakyOptions): Promise<LeakyServer> {
  // The key is known here too, because only a session's id knows the name of its object.
  const ring = `test:${randomBytes(32).toString('base64url')}`
  const seals = sealer(parseKeyRing(ring))
  const server = await startServer('test/chaos/leaky', { EDGEMCP_KEYS: ring, OPTIONS: JSON.stringify(options) })
  async function inspect(object: string, { alone, due }: When = {}): Promise<Inventory> {
    const url = new URL(`/objects/${object}${alone ? '?until=alone' : ''}`, server.url)
    const response = await fetch(url, { method: due ? 'POST' : 'GET', signal: AbortSignal.timeout(patience) })
    if (!response.ok) throw new Error(`${object}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Inventory
  }
  return {
    ...server,
    async nameOf(session) {
      const opened = (await seals.open('session', undefined, session)) ?? (await seals.open('sse', undefined, session))
      return (opened as { name: string }).name
    },
    session: (name, when) => inspect(`session/${name}`, when),
    updates: (when) => inspect('updates/updates', when),
    async openStreams(name) {
      const storage = await server.harness.getWorker().getDurableObjectStorage('McpSession', { name })
      return (await storage.exec('SELECT id FROM streams WHERE unanswered > 0')).length
    },
  }
}
