/** A stretch of network between a client and a server. Everything passes through it, and it can be cut. */
import {
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  request,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

export type Carried = { method: string; path: string; headers: IncomingHttpHeaders; body: string }

export type Wire = {
  /** The server's address, through the wire. */
  url: URL
  /** Every request that went through, oldest first. */
  carried: readonly Carried[]
  /** Breaks the event streams that are open. Returns how many there were. */
  cut(): number
  /** Sends a request once more, as it was, and says what the server thinks of it. */
  repeat(carried: Carried): Promise<number>
} & AsyncDisposable

export async function layWire(server: URL): Promise<Wire> {
  const carried: Carried[] = []
  const streams = new Set<ServerResponse>()

  const relay = createServer(async (incoming, outgoing) => {
    const { method = '', url: path = '', headers } = incoming
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const message = { method, path, headers, body: Buffer.concat(chunks).toString() }
    carried.push(message)
    const onward = request(new URL(path, server), { method, headers: headers as OutgoingHttpHeaders })
    onward.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders()
      if (answer.headers['content-type'] === 'text/event-stream') streams.add(outgoing)
      answer.on('error', () => outgoing.destroy())
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    // Who leaves here has left there.
    outgoing.on('close', () => {
      streams.delete(outgoing)
      onward.destroy()
    })
    onward.end(message.body)
  })
  await new Promise<void>((listening) => relay.listen(0, '127.0.0.1', listening))
  const { port } = relay.address() as AddressInfo

  return {
    url: new URL(server.pathname, `http://127.0.0.1:${port}`),
    carried,
    cut() {
      const cuts = streams.size
      for (const stream of streams) stream.destroy()
      return cuts
    },
    async repeat({ method, path, headers, body }) {
      const answer = await fetch(new URL(path, server), { method, body, headers: plainHeaders(headers) })
      await answer.body?.cancel()
      return answer.status
    },
    async [Symbol.asyncDispose]() {
      relay.closeAllConnections()
      await new Promise((closed) => relay.close(closed))
    },
  }
}

/** Without those of the connection it came over. */
function plainHeaders(headers: IncomingHttpHeaders): Headers {
  const plain = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (!['host', 'connection', 'content-length', 'transfer-encoding'].includes(name)) plain.set(name, String(value))
  }
  return plain
}
