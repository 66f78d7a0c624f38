/**
 * A minimal server with a Durable Object: the Worker parses a request and passes it to an object, which responds.
 * All stateless requests go to one object; each session has its own.
 */
import { DurableObject, exports } from 'cloudflare:workers'
import { answerTo, questionFor, toldOf } from './floor-answers.ts'
import { type Request as Message, statelessResult } from './wire.ts'

type Numbered = Message & { id: number }
type Reply = { id: number; result: unknown }

export class FloorObject extends DurableObject {
  /** Open input requests, by the functions that their responses resolve. */
  readonly #asked = new Map<number, () => void>()

  answer(message: Numbered, isStateless: boolean): string {
    const { id, method } = message
    const result = answerTo(message)
    return JSON.stringify({ jsonrpc: '2.0', id, result: isStateless ? statelessResult(method, result) : result })
  }

  /** Responds after the input request with the same id was answered. */
  async answerAfterReply(message: Numbered): Promise<string> {
    await new Promise<void>((resolve) => this.#asked.set(message.id, resolve))
    return this.answer(message, false)
  }

  reply(id: number): void {
    this.#asked.get(id)?.()
    this.#asked.delete(id)
  }
}

const exported = exports as unknown as { FloorObject: DurableObjectNamespace<FloorObject> }

export default {
  async fetch(request: Request): Promise<Response> {
    const message = await request.json<Numbered | Reply>()
    const session = request.headers.get('Mcp-Session-Id')
    const object = exported.FloorObject.getByName(session ?? 'all')
    if (!('method' in message)) {
      await object.reply(message.id)
      return new Response(null, { status: 202 })
    }
    if (message.method === 'initialize') return welcome(message)
    if (message.id === undefined) return new Response(null, { status: 202 })
    const told = toldOf(message.params)
    if (told.length > 0) return report(told, object.answer(message, session === null))
    if (OFFER === 'talking') return conversation(message, object.answerAfterReply(message))
    const text = await object.answer(message, session === null)
    return new Response(text, { headers: { 'Content-Type': 'application/json' } })
  },
}

function welcome(message: Numbered): Response {
  const answer = { jsonrpc: '2.0', id: message.id, result: answerTo(message) }
  return Response.json(answer, { headers: { 'Mcp-Session-Id': crypto.randomUUID() } })
}

/** The notifications, and the response. */
function report(told: readonly object[], answer: Promise<string>): Response {
  const encoder = new TextEncoder()
  const event = (text: string) => encoder.encode(`event: message\ndata: ${text}\n\n`)
  const remaining = [...told]
  const body = new ReadableStream({
    async pull(controller) {
      const message = remaining.shift()
      controller.enqueue(event(message ? JSON.stringify(message) : await answer))
      if (!message) controller.close()
    },
  })
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } })
}

/** The input request, and the response. */
function conversation({ id, params }: Numbered, answer: Promise<string>): Response {
  const encoder = new TextEncoder()
  const event = (text: string) => encoder.encode(`event: message\ndata: ${text}\n\n`)
  const question = { jsonrpc: '2.0', id, method: 'elicitation/create', params: questionFor(params) }
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(event(JSON.stringify(question))),
    async pull(controller) {
      controller.enqueue(event(await answer))
      controller.close()
    },
  })
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } })
}
