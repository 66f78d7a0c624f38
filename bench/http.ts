/** HTTP requests of all clients in the benchmarks. */
import { once } from 'node:events'
import { type Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'

type Headers = Readonly<Record<string, string>>

/** Posts a message as published clients do. Resolves with the start of the response. */
export async function post(url: URL, agent: Agent, message: object, headers: Headers): Promise<IncomingMessage> {
  const body = JSON.stringify(message)
  const sent = request(url, {
    method: 'POST',
    agent,
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'Content-Length': Buffer.byteLength(body),
      ...headers,
    },
  })
  sent.end(body)
  return answered(sent)
}

/** Opens the standing stream of a session, over a separate connection. @throws Error when there is none */
export async function listen(url: URL, headers: Headers): Promise<IncomingMessage> {
  const sent = request(url, { agent: false, headers: { Accept: 'text/event-stream', ...headers } })
  sent.end()
  const response = await answered(sent)
  if (response.statusCode !== 200) throw new Error(`A stream was answered with ${response.statusCode}`)
  return response
}

async function answered(sent: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}
