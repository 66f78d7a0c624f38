/** Stands between a browser and a server, and keeps every message that goes by. What only the inspector reads is no message. */
import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import { EventStreamReader } from '../../worker/client/event-stream-reader.ts'

export type Relay = {
  readonly url: URL
  readonly sent: readonly unknown[]
  readonly received: readonly unknown[]
} & AsyncDisposable

export async function startRelay(target: URL): Promise<Relay> {
  const sent: unknown[] = []
  const received: unknown[] = []
  const web = createServer((request, response) => {
    const { method, headers, url = '/' } = request
    const own = { host: target.host, 'accept-encoding': 'identity' }
    const passed = send(new URL(url, target), { method, headers: { ...headers, ...own } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders()
      const type = answer.headers['content-type'] ?? ''
      const events = new EventStreamReader()
      let whole = ''
      const decoder = new TextDecoder()
      answer.on('data', (bytes: Buffer) => {
        if (type.startsWith('text/event-stream')) for (const { data } of events.read(bytes)) keep(received, data)
        else if (type.startsWith('application/json')) whole += decoder.decode(bytes, { stream: true })
        response.write(bytes)
      })
      answer.on('end', () => {
        if (!url.startsWith('/?inside')) keep(received, whole)
        response.end()
      })
      answer.on('error', () => response.destroy())
    })
    passed.on('error', () => response.destroy())
    response.on('close', () => passed.destroy())
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
      passed.write(text)
    })
    request.on('end', () => {
      keep(sent, body)
      passed.end()
    })
  })
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  return {
    url: new URL(`http://127.0.0.1:${(web.address() as { port: number }).port}`),
    sent,
    received,
    async [Symbol.asyncDispose]() {
      web.closeAllConnections()
      web.close()
      await once(web, 'close')
    },
  }
}

function keep(messages: unknown[], text: string): void {
  if (text.startsWith('{') || text.startsWith('[')) messages.push(JSON.parse(text))
}
