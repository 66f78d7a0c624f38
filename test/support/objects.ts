/** The Durable Objects behind a running server. */
import { randomBytes } from 'node:crypto'
import { parseKeyRing, sealer } from '../../worker/auth/seal.ts'
import { startServer, type TestServer } from './server.ts'

type Sockets = 'close' | 'hibernate'

export type ServerWithObjects = TestServer & {
  /** The name of a session's object. */
  objectOf(session: string): Promise<string>
  /** Puts a session's object out of memory. Waits until it has nothing to do. */
  evict(object: string, webSockets: Sockets): Promise<void>
}

/** Starts a server whose session ids can be read here: only they know the names of their objects. */
export async function startWithObjects(
  folder: string,
  secrets: Record<string, string> = {},
): Promise<ServerWithObjects> {
  const ring = `test:${randomBytes(32).toString('base64url')}`
  const seals = sealer(parseKeyRing(ring))
  const server = await startServer(folder, { ...secrets, EDGEMCP_KEYS: ring })
  return {
    ...server,
    async objectOf(session) {
      const opened = (await seals.open('session', undefined, session)) ?? (await seals.open('sse', undefined, session))
      return (opened as { name: string }).name
    },
    evict: (object, webSockets) => evict(server, 'McpSession', object, webSockets),
  }
}

/** Puts an object out of memory, if it is there. Fails when something keeps it there. */
export async function evict(server: TestServer, kind: string, name: string, webSockets: Sockets): Promise<void> {
  try {
    await server.harness.getWorker().evictDurableObject(kind, { name, webSockets })
  } catch (problem) {
    if (!String(problem).includes('not currently running')) throw problem
  }
}
