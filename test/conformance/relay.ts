/** Between the conformance suite and a server, to hold every handshake at one revision. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type Relay = { url: URL } & AsyncDisposable

/**
 * Passes everything on as it is, except that each `initialize` asks for this revision: the suite's client asks for the
 * newest one it knows, whatever `--spec-version` says.
 */
export async function openRelay(target: URL, revision: string): Promise<Relay> {
  const relay = createServer(async (incoming, outgoing) => {
    const body = atRevision(await text(incoming), revision)
    pass(incoming, body, target, outgoing)
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const { port } = relay.address() as AddressInfo
  return {
    url: new URL(target.pathname, `http://127.0.0.1:${port}`),
    async [Symbol.asyncDispose]() {
      relay.closeAllConnections()
      relay.close()
      await once(relay, 'close')
    },
  }
}

function atRevision(body: string, revision: string): string {
  if (!body.includes('"initialize"')) return body
  const message = JSON.parse(body)
  if (message.method === 'initialize') message.params.protocolVersion = revision
  return JSON.stringify(message)
}

function pass({ method, url, headers }: IncomingMessage, body: string, target: URL, outgoing: ServerResponse): void {
  const { 'content-length': _length, 'transfer-encoding': _encoding, ...rest } = headers
  const passed = request(new URL(url ?? '/', target), { method, headers: rest }, (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers)
    // A stream may stay silent for long after it has opened.
    outgoing.flushHeaders()
    response.pipe(outgoing)
  })
  passed.on('error', () => outgoing.destroy())
  outgoing.on('close', () => passed.destroy())
  passed.end(body)
}
