/** Requests over connections of their own, and event streams as they come, whoever ends them. */
import { type IncomingMessage, request } from 'node:http'
import type { Message } from '../../../worker/protocol/jsonrpc.ts'

/** Milliseconds until whatever is asked must be answered. */
const patience = 40_000

export type Sent = { method: 'GET' | 'POST' | 'DELETE'; headers?: Record<string, string>; message?: object }

export function send(url: URL, { method, headers = {}, message }: Sent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
    // No connection outlives its request, so none can turn out to lead to a process that is no more.
    const sent = request(url, { method, headers: { ...(message && json), ...headers }, agent: false }, resolve)
    sent.on('error', reject)
    const late = setTimeout(() => {
      sent.destroy(new Error(`${method} ${url.pathname}${url.search} was not answered after ${patience / 1000} s`))
    }, patience)
    sent.on('close', () => clearTimeout(late)).on('response', () => clearTimeout(late))
    sent.end(message && JSON.stringify({ jsonrpc: '2.0', ...message }))
  })
}

/** A message of a stream, or what only gives an id. */
export type Heard = { id: string | undefined; message: Message | undefined }

/** The events of a stream until it ends or breaks. */
export async function* heardOn(response: IncomingMessage): AsyncGenerator<Heard> {
  let rest = ''
  response.setEncoding('utf8')
  for await (const chunk of response) {
    const frames = (rest + chunk).split('\n\n')
    rest = frames.pop() as string
    for (const frame of frames) {
      const [, id] = /^id: (.*)$/m.exec(frame) ?? []
      const [, data = ''] = /^data: (.*)$/m.exec(frame) ?? []
      if (id !== undefined || data !== '') yield { id, message: data === '' ? undefined : JSON.parse(data) }
    }
  }
}
