/** A server that sends what it is given, over connections that keep being lost between the Worker and the Session object. */
import { createServer, resourceLink, serve, text } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'
import type { Posted, SessionRpc } from '../../../durable-objects/session/rpc.ts'

const server = createServer({ name: 'framing', version: '1.0.0' })

server.tool(
  'send',
  {
    description: 'Sends notifications, then a result',
    inputSchema: z.object({
      notifications: z.array(z.object({ kind: z.enum(['log', 'progress']), text: z.string() })),
      result: z.string(),
    }),
  },
  async ({ notifications, result }, ctx) => {
    for (const [index, { kind, text }] of notifications.entries()) {
      if (kind === 'log') ctx.log('info', text)
      else ctx.progress(index + 1, undefined, text)
      // Long enough for a connection to be lost in between.
      await scheduler.wait(1)
    }
    return [text(result), resourceLink(`note://${result}`, { name: result || 'empty' })]
  },
)

let [connections, bodies] = [0, 0]
server.tool('connections', { description: 'Counts sockets opened to Session objects' }, () => `${connections}`)

const worker = serve(server, { limits: { maxBufferedBytes: 1000 }, plugins: [sessions()] })
export default worker

export class McpSession extends worker.McpSession {
  override async post(...args: Parameters<SessionRpc['post']>): Promise<Posted | string> {
    const posted = await super.post(...args)
    if (typeof posted === 'string' || !('stream' in posted) || !posted.body) return posted
    bodies += 1
    return bodies % 3 === 0 ? posted : { ...posted, body: cut(posted.body, bodies % 1000) }
  }

  override async fetch(request: Request): Promise<Response> {
    connections += 1
    const response = await super.fetch(request)
    if (connections % 3 !== 0) setTimeout(() => this.#cut(), 4)
    return response
  }

  #cut(): void {
    for (const socket of this.ctx.getWebSockets()) socket.close(3000)
  }
}

/** Returns a body that breaks after a number of bytes. */
function cut(body: ReadableStream<Uint8Array>, length: number): ReadableStream<Uint8Array> {
  const { readable, writable } = new IdentityTransformStream()
  const writer = writable.getWriter()
  const pump = async () => {
    let rest = length
    for await (const chunk of body) {
      await writer.write(chunk.subarray(0, rest))
      rest -= chunk.length
      if (rest < 0) throw new Error('The body is cut')
    }
    await writer.close()
  }
  pump().catch((problem) => writer.abort(problem))
  return readable
}
