/** Receivers of webhooks on the internet outside of a Worker, and the identity provider of its users. */
import { Webhook } from 'standardwebhooks'

export type Received = {
  readonly at: number
  readonly id: string
  readonly subscription: string
  readonly body: Record<string, unknown>
}
type Answer = (received: Received, request: Request) => Response | Promise<Response>

/** A receiver at a URL of its own, which checks each signature by the library of Standard Webhooks. */
export class Receiver {
  readonly url: string
  readonly secret: string
  readonly events: Received[] = []
  readonly verifications: Received[] = []
  /** Answers an event. Default: 204. */
  answer: Answer = () => new Response(null, { status: 204 })
  /** Answers a verification. Default: returns the challenge. */
  verify: Answer = ({ body }) => Response.json({ challenge: body.challenge })
  #waiting: { readonly count: number; readonly resolve: () => void }[] = []

  constructor(internet: Internet, path: string, secret = secretOf(path), host = 'hooks.example') {
    this.url = `https://${host}/${path}`
    this.secret = secret
    internet.handlers.set(this.url, (request) => this.receive(request))
  }

  /** Resolves when it has received so many attempts of events. */
  async received(count: number): Promise<readonly Received[]> {
    if (this.events.length < count) {
      await new Promise<void>((resolve) => void this.#waiting.push({ count, resolve }))
    }
    return this.events
  }

  async receive(request: Request): Promise<Response> {
    const text = await request.text()
    const body = new Webhook(this.secret).verify(text, Object.fromEntries(request.headers)) as Record<string, unknown>
    const id = request.headers.get('webhook-id') ?? ''
    const received = { at: Date.now(), id, subscription: request.headers.get('X-MCP-Subscription-Id') ?? '', body }
    if (body.type === 'verification') {
      this.verifications.push(received)
      return this.verify(received, request)
    }
    this.events.push(received)
    const answer = await this.answer(received, request)
    for (const { count, resolve } of this.#waiting) if (this.events.length >= count) resolve()
    return answer
  }
}

export class Internet {
  readonly handlers = new Map<string, (request: Request) => Promise<Response>>()
  /** Receivers of all URLs of a host. */
  readonly hosts = new Map<string, (request: Request) => Promise<Response>>()
  /** Requests that no handler has, by URL. */
  readonly strays: string[] = []
  /** Scopes of users by subject; `undefined`: revoked. */
  readonly users = new Map<string, readonly string[] | undefined>()

  answer = async (request: Request): Promise<Response> => {
    const { host, pathname } = new URL(request.url)
    const own = this.handlers.get(request.url) ?? this.hosts.get(host)
    if (own) return own(request)
    if (host === 'idp.example') {
      const subject = pathname.slice(1)
      const scopes = this.users.has(subject) ? this.users.get(subject) : []
      return scopes ? Response.json(scopes) : new Response(null, { status: 404 })
    }
    this.strays.push(request.url)
    return new Response(null, { status: 404 })
  }
}

export const secretOf = (name: string): string =>
  `whsec_${Buffer.from(name.padEnd(32, '.').slice(0, 32)).toString('base64')}`
