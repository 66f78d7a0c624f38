/** Receives what the Sentry SDK sends: an HTTP server on this machine, in the place of sentry.io. */
import { once } from 'node:events'
import { createServer } from 'node:http'

/** An error event, as far as tests look at it. */
export type SentryEvent = {
  exception: { values: { type: string; value: string }[] }
  tags: Record<string, string>
  user: { id?: string }
}

export type SentryServer = { readonly dsn: string; readonly events: readonly SentryEvent[] } & AsyncDisposable

/** @see https://develop.sentry.dev/sdk/data-model/envelopes/ */
export async function startSentry(): Promise<SentryServer> {
  const events: SentryEvent[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const lines = Buffer.concat(chunks).toString().split('\n')
    for (const [index, line] of lines.entries()) {
      if (index > 0 && line.startsWith('{"type":"event"')) events.push(JSON.parse(String(lines[index + 1])))
    }
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return {
    dsn: `http://key@127.0.0.1:${port}/1`,
    events,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
