/** What the inspector writes down of answers, and what the client gets of them. */
import { describe, expect, test, vi } from 'vitest'
import { type Frame, trafficTo } from '../../inspector/traffic.ts'

/** As Chromium does since version 150: every answer has a body, which may be empty. */
function answerInChromium(status: number, headers: Record<string, string>, chunks: readonly string[] = []): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
      controller.close()
    },
  })
  return Object.defineProperty(new Response(null, { status, headers }), 'body', { value: body })
}

async function overhear(answer: Response) {
  vi.stubGlobal('fetch', async () => answer)
  const frames: Frame[] = []
  const target = trafficTo(
    { mcp: '/mcp', sse: undefined },
    { onFrame: (frame) => void frames.push(frame), headersFor: () => ({}) },
  )
  const response = await target(new Request('http://localhost/mcp', { method: 'POST', body: '{}' }))
  const notes = () => frames.filter(({ direction }) => direction === 'received').map(({ note }) => note)
  return { response, notes }
}

/** Lets everything happen that waits for nothing but its turn. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe.each([202, 204, 205, 304])('a response %i without content, which has an empty body in Chromium', (status) => {
  test('is logged once, as a response without a body', async () => {
    const { response, notes } = await overhear(answerInChromium(status, {}))
    expect(response.status).toBe(status)
    await response.body?.cancel()
    await turn()
    expect(notes()).toEqual(['no body'])
  })
})

test('a body that the client cancels is logged once, as aborted', async () => {
  const headers = { 'Content-Type': 'application/json' }
  const { response, notes } = await overhear(answerInChromium(200, headers, ['{"jsonrpc":"2.0"', '}']))
  await response.body?.cancel()
  await turn()
  expect(notes()).toEqual(['aborted by this page'])
})
