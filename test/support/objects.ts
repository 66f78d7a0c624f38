/** The Durable Objects behind a running server. */
import { resolve } from 'node:path'
import { mintKeyRing, parseKeyRing } from '../../worker/sealing/seal.ts'
import { control } from '../../worker/testing/node/control.ts'
import { evict as evictFrom } from '../../worker/testing/node/evict.ts'
import { objectOf, type ServerUnderTest } from '../../worker/testing/objects.ts'
import { type Internet, startServer, type TestServer } from './server.ts'

const root = resolve(import.meta.dirname, '../..')

/** A server whose objects can be evicted, and whose clock can be advanced, as with `edgemcp/testing/node`. */
export type ControlledServer = TestServer & ServerUnderTest

/**
 * @param secrets secrets and variables. Default: new `EDGEMCP_KEYS`
 * @param internet answers what the Worker requests
 */
export async function startControlled(
  folder: string,
  secrets: Record<string, string> = {},
  internet?: Internet,
): Promise<ControlledServer> {
  const ring = secrets.EDGEMCP_KEYS ?? freshKeys()
  const server = await startServer(folder, { ...secrets, EDGEMCP_KEYS: ring }, internet)
  const config = resolve(root, folder, 'wrangler.toml')
  return { ...server, ...control(server.harness, server.url, { config, env: undefined, ring }) }
}

export type ServerWithObjects = ControlledServer & {
  /** The name of the Session object of a client. */
  objectOf(session: string): Promise<string>
}

/** Starts a server with known keys, so that the names of its Session objects can be read from session ids. */
export async function startWithObjects(
  folder: string,
  secrets: Record<string, string> = {},
): Promise<ServerWithObjects> {
  const ring = freshKeys()
  return {
    ...(await startControlled(folder, { ...secrets, EDGEMCP_KEYS: ring })),
    objectOf: async (session) => (await objectOf({ session }, parseKeyRing(ring))).name,
  }
}

function freshKeys(): string {
  const { current, keys } = mintKeyRing()
  return `${current}:${keys[current]}`
}

/** Evicts an object of a server whose keys are unknown. An object that nothing uses for ten seconds is evicted without it. */
export const evict = (server: TestServer, kind: string, name: string, webSockets: 'close' | 'hibernate') =>
  evictFrom(server.harness, kind, { name }, webSockets)

/** Returns all rows of all objects of a class, as JSON. */
export async function storedRows({ harness }: TestServer, className: string): Promise<string> {
  const worker = harness.getWorker()
  const rows: unknown[] = []
  for (const id of await worker.listDurableObjectIds(className)) {
    const storage = await worker.getDurableObjectStorage(className, { id })
    const tables = await storage.exec(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
    )
    for (const { name } of tables) rows.push(await storage.exec(`SELECT * FROM ${name}`))
  }
  return JSON.stringify(rows)
}
