/**
 * A minimal server whose Durable Object sends the notifications of a call while it runs: its response is the event stream, which the Worker
 * passes on untouched. With ROWS, each event is a row of its storage first.
 */
import { DurableObject, env, exports } from 'cloudflare:workers'
import { answerTo, toldOf } from './floor-answers.ts'
import { pause } from './offer.ts'
import type { Request as Message } from './wire.ts'

type Numbered = Message & { id: number }

const keepsRows = 'ROWS' in env
const headers = { 'Content-Type': 'text/event-stream' }

export class FloorObject extends DurableObject {
  readonly #encoder = new TextEncoder()
  #stream = 0

  constructor(ctx: DurableObjectState, environment: never) {
    super(ctx, environment)
    if (!keepsRows) return
    ctx.storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS events (stream INTEGER, seq INTEGER, data TEXT, PRIMARY KEY (stream, seq)) WITHOUT ROWID',
    )
  }

  override async fetch(request: Request): Promise<Response> {
    const message = await request.json<Numbered>()
    const { readable, writable } = new IdentityTransformStream()
    void this.#run(message, writable.getWriter())
    return new Response(readable, { headers })
  }

  async #run(message: Numbered, writer: WritableStreamDefaultWriter<Uint8Array>): Promise<void> {
    const { id, params } = message
    this.#stream += 1
    let seq = 0
    const send = (data: object) => {
      seq += 1
      const text = JSON.stringify(data)
      if (keepsRows) this.ctx.storage.sql.exec('INSERT INTO events VALUES (?, ?, ?)', this.#stream, seq, text)
      writer.write(this.#encoder.encode(`id: ${this.#stream}.${seq}\ndata: ${text}\n\n`)).catch(() => {})
    }
    for (const [index, notification] of toldOf(params).entries()) {
      await pause(index + 1)
      send(notification)
    }
    send({ jsonrpc: '2.0', id, result: answerTo(message) })
    writer.close().catch(() => {})
  }
}

const exported = exports as unknown as { FloorObject: DurableObjectNamespace<FloorObject> }

export default {
  async fetch(request: Request): Promise<Response> {
    const text = await request.text()
    const message = JSON.parse(text) as Numbered
    const { id, method } = message
    if (id === undefined) return new Response(null, { status: 202 })
    if (method === 'initialize') {
      const answer = { jsonrpc: '2.0', id, result: answerTo(message) }
      return Response.json(answer, { headers: { 'Mcp-Session-Id': crypto.randomUUID() } })
    }
    const object = exported.FloorObject.getByName(request.headers.get('Mcp-Session-Id') ?? 'all')
    return object.fetch(request.url, { method: 'POST', body: text })
  },
}
