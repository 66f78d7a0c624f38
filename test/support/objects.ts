/** The Durable Objects behind a running server. */
import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { parseKeyRing } from '../../worker/sealing/seal.ts'
import { evict as evictFrom } from '../../worker/testing/node/evict.ts'
import { type RunningServer, startServer } from '../../worker/testing/node/index.ts'
import { objectOf } from '../../worker/testing/objects.ts'
import type { TestServer } from './server.ts'

const root = resolve(import.meta.dirname, '../..')

export type ServerWithObjects = RunningServer & {
  /** The name of the Session object of a client. */
  objectOf(session: string): Promise<string>
}

/** Starts a server with known keys, so that the names of its Session objects can be read from session ids. */
export async function startWithObjects(
  folder: string,
  secrets: Record<string, string> = {},
): Promise<ServerWithObjects> {
  const ring = `test:${randomBytes(32).toString('base64url')}`
  const config = resolve(root, folder, 'wrangler.toml')
  const server = await startServer({ config, secrets: { ...secrets, EDGEMCP_KEYS: ring } })
  return {
    ...server,
    objectOf: async (session) => (await objectOf({ session }, parseKeyRing(ring))).name,
  }
}

/** Evicts an object of a server whose keys are unknown. */
export const evict = (server: TestServer, kind: string, name: string, webSockets: 'close' | 'hibernate') =>
  evictFrom(server.harness, kind, { name }, webSockets)
