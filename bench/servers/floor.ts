/** A minimal server: a Worker that parses a stateless request and responds to it. */
import { answerTo, questionTo, toldOf } from './floor-answers.ts'
import { type Request as Message, statelessResult } from './wire.ts'

type Numbered = Message & { id: number }

export default {
  async fetch(request: Request): Promise<Response> {
    const message = await request.json<Numbered>()
    const { id, method, params } = message
    const asked = questionTo(message)
    if (asked) return Response.json({ jsonrpc: '2.0', id, result: asked })
    const answer = { jsonrpc: '2.0', id, result: statelessResult(method, answerTo(message)) }
    const told = toldOf(params)
    return told.length === 0 ? Response.json(answer) : streamed([...told, answer])
  },
}

/** One event at a time, like a stream of a handler. */
function streamed(messages: readonly object[]): Response {
  const encoder = new TextEncoder()
  const remaining = messages.values()
  const body = new ReadableStream({
    pull(controller) {
      const message = remaining.next().value
      if (message) controller.enqueue(encoder.encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`))
      else controller.close()
    },
  })
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } })
}
