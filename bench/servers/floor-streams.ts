/**
 * A minimal server with streams: a Session object holds a hibernatable WebSocket, whose messages the Worker sends as
 * events. A table stores them for replay.
 */
import { DurableObject, exports } from 'cloudflare:workers'

export class FloorObject extends DurableObject {
  talk(events: number): void {
    const { sql } = this.ctx.storage
    sql.exec('CREATE TABLE events (id INTEGER PRIMARY KEY, data TEXT)')
    for (let step = 1; step <= events; step += 1) {
      const params = { progressToken: 'token', progress: step, total: events }
      const data = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })
      sql.exec('INSERT INTO events VALUES (?, ?)', step, data)
    }
  }

  override async fetch(request: Request): Promise<Response> {
    const { 0: client, 1: socket } = new WebSocketPair()
    this.ctx.acceptWebSocket(socket)
    const after = request.headers.get('Last-Event-ID')
    if (after !== null) {
      const { sql } = this.ctx.storage
      const rows = sql.exec<{ id: number; data: string }>('SELECT id, data FROM events WHERE id > ?', Number(after))
      for (const { id, data } of rows) socket.send(`id: ${id}\ndata: ${data}\n\n`)
    }
    return new Response(null, { status: 101, webSocket: client })
  }
}

const exported = exports as unknown as { FloorObject: DurableObjectNamespace<FloorObject> }

export default {
  async fetch(request: Request): Promise<Response> {
    const object = exported.FloorObject.getByName(request.headers.get('Mcp-Session-Id') ?? 'all')
    if (request.method === 'POST') {
      const { id, params } = await request.json<{ id: number; params: { arguments?: { events: number } } }>()
      const headers = { 'Mcp-Session-Id': crypto.randomUUID() }
      if (!params?.arguments) return Response.json({ jsonrpc: '2.0', id, result: {} }, { headers })
      await object.talk(params.arguments.events)
      return Response.json({ jsonrpc: '2.0', id, result: {} })
    }
    const after = request.headers.get('Last-Event-ID')
    const opened = await object.fetch('https://object/', {
      headers: { Upgrade: 'websocket', ...(after !== null && { 'Last-Event-ID': after }) },
    })
    const socket = opened.webSocket as WebSocket
    const encoder = new TextEncoder()
    const body = new ReadableStream({
      start(controller) {
        socket.addEventListener('message', ({ data }) => controller.enqueue(encoder.encode(String(data))))
        socket.accept()
      },
      cancel: () => socket.close(),
    })
    return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } })
  },
}
