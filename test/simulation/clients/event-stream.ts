import type { ReceivedBody } from '../client-world.ts'

export type StreamEvent = {
  readonly id?: string
  readonly event?: string
  readonly retryMs?: number
  readonly data?: string
}

/** Reads a stream of `text/event-stream`. @see https://html.spec.whatwg.org/multipage/server-sent-events.html */
export async function* eventsOf(body: ReceivedBody): AsyncGenerator<StreamEvent> {
  // An event may come in thousands of chunks.
  let rest: string[] = []
  let last = ''
  for await (const chunk of body.chunks()) {
    const isEnd = `${last}${chunk}`.includes('\n\n')
    rest.push(chunk)
    last = chunk.at(-1) ?? last
    if (!isEnd) continue
    const frames = rest.join('').split('\n\n')
    rest = [String(frames.pop())]
    for (const frame of frames) {
      const event = parse(frame)
      if (Object.keys(event).length > 0) yield event
    }
  }
}

function parse(frame: string): StreamEvent {
  const fields = frame.split('\n').map((line) => /^(\w+): ?(.*)$/.exec(line) ?? [])
  const data = fields.flatMap(([, name, value]) => (name === 'data' ? [value] : []))
  const id = fields.find(([, name]) => name === 'id')?.[2]
  const event = fields.find(([, name]) => name === 'event')?.[2]
  const retry = fields.find(([, name]) => name === 'retry')?.[2]
  return {
    ...(id !== undefined && { id }),
    ...(event !== undefined && { event }),
    ...(retry !== undefined && { retryMs: Number(retry) }),
    ...(data.length > 0 && { data: data.join('\n') }),
  }
}
