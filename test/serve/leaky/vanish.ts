/** Clients that vanish while the server speaks to them, and how long their streams outlive them. */
import { performance } from 'node:perf_hooks'
import { Connection, type Vanishing } from './connection.ts'
import type { LeakyServer } from './server.ts'
import { Visitor } from './visitor.ts'
import { keepAlive, Witness } from './witness.ts'

export type Noticed = {
  where: string
  how: Vanishing
  /** How many keep-alives went out on another stream until the object had no socket any more. */
  keepAlives: number
  milliseconds: number
}

/** A client on its stream, and the name of its session's object. */
type Client = { connection: Connection; name: string }

/** Each prepares a client, and resolves to what opens its stream. */
const places: Record<string, (server: LeakyServer) => Promise<() => Promise<Client>>> = {
  async 'a standing stream'({ url, objectOf }) {
    const { session } = await Visitor.arrive(url)
    const name = await objectOf(session)
    return async () => ({ name, connection: await Connection.open(url, { headers: headersOf(session) }) })
  },
  async 'a call that waits for its client'({ url, objectOf }) {
    const { session } = await Visitor.arrive(url)
    const name = await objectOf(session)
    const params = { name: 'ask', arguments: {} }
    const request = { headers: headersOf(session), message: { id: 1, method: 'tools/call', params } }
    return async () => ({ name, connection: await Connection.open(url, request) })
  },
  async 'HTTP+SSE'({ url, objectOf }) {
    return async () => {
      const connection = await Connection.open(url, { path: '/sse' })
      await connection.readUntil('\n\n')
      return { name: await objectOf(sessionIn(connection.text)), connection }
    }
  },
}

/** What the first event of an HTTP+SSE stream names. */
export const sessionIn = (text: string): string => decodeURIComponent(/\?session=(\S+)/.exec(text)?.[1] as string)

const headersOf = (session: string) => ({ 'Mcp-Session-Id': session })

/** Lets a client vanish in every place, in both ways, all at once. */
export async function vanish(server: LeakyServer): Promise<Noticed[]> {
  const openings: { where: string; how: Vanishing; open: () => Promise<Client> }[] = []
  for (const [where, prepare] of Object.entries(places)) {
    for (const how of ['FIN', 'RST'] as const) openings.push({ where, how, open: await prepare(server) })
  }
  // Keep-alives are counted on a stream that opens just before the others: each of its ticks comes just before theirs,
  // so a busy machine has almost a whole keep-alive to spare before one too many is counted.
  using witness = await Witness.arrive(server)
  const clients = await Promise.all(openings.map(async ({ open, ...rest }) => ({ ...rest, ...(await open()) })))
  return await Promise.all(
    clients.map(async ({ where, how, name, connection }) => {
      await connection.readUntil(keepAlive)
      // A call gets its socket once it waits.
      while ((await server.session(name)).sockets === 0) await connection.readUntil(keepAlive)
      await connection.readUntil(keepAlive)
      connection.vanish(how)
      const [before, since] = [witness.ticks, performance.now()]
      await server.session(name, { alone: true })
      return { where, how, keepAlives: witness.ticks - before, milliseconds: performance.now() - since }
    }),
  )
}
