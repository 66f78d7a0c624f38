/** The internet outside of the Worker, as a proxy: the receivers, and the directory of users. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Subscriber, User } from './subscriber.ts'

export class Outside implements AsyncDisposable {
  /** By the key in their URL. */
  readonly subscribers = new Map<string, Subscriber>()
  readonly revoked = new Set<User>()
  /** A directory that answers 503 to one of so many requests. */
  failsOneOf = Number.POSITIVE_INFINITY
  /** The first thing that must not happen. */
  failure: unknown
  /** Requests that were ended before they were answered. */
  ended = 0
  readonly #users = new Map<string, User>()
  // A proxy gets the host in the URL.
  readonly #server = createServer({ requireHostHeader: false }, (request, response) => {
    this.#respond(request, response).catch((problem) => {
      this.failure ??= problem
      response.destroy()
    })
  })

  async listen(users: readonly User[]): Promise<number> {
    for (const user of users) {
      this.#users.set(`/${[user.tenant ?? '', user.subject].map(encodeURIComponent).join('/')}`, user)
    }
    // All objects send at the same time when they start again.
    await once(this.#server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }), 'listening')
    const { port } = this.#server.address() as AddressInfo
    return port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await once(this.#server.close(), 'close')
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // As proxies are asked.
    const url = new URL(request.url ?? '')
    if (url.host === 'directory.example') {
      const user = this.#users.get(url.pathname)
      const isDown = Math.random() < 1 / this.failsOneOf
      response.writeHead(isDown ? 503 : user && !this.revoked.has(user) ? 200 : 404).end()
      return
    }
    const subscriber = this.subscribers.get(url.searchParams.get('mcp_event_subscription') ?? '')
    if (!subscriber || subscriber.url !== url.href) throw new Error(`${url} was requested, which nobody has subscribed`)
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)])
    const body = await text(request).catch(() => undefined)
    // Its sender was killed.
    if (body === undefined) return
    const { answer, onEnd } = await subscriber.receive(
      new Request(url, { method: 'POST', headers, body }),
      () => response.destroyed && !response.writableFinished,
    )
    if (answer === 'down') {
      onEnd()
      response.destroy()
    } else if (answer === 'hang') response.once('close', onEnd)
    else {
      const { status, body = '', location } = answer
      onEnd()
      response.writeHead(status, location === undefined ? {} : { Location: location }).end(body)
    }
  }
}
