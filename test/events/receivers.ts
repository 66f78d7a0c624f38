/** Receivers of webhooks on the internet outside of a Worker, and the identity provider of its users. */
import { Webhook } from 'standardwebhooks'
import { type ReceivedEvent, Receiver as ReceiverOfKit } from '../../worker/testing/index.ts'

/** A receiver at a URL of its own, whose signatures the library of Standard Webhooks checks, too. */
export class Receiver extends ReceiverOfKit {
  constructor(internet: Internet, path: string, secret = secretOf(path), host = 'hooks.example') {
    super({ url: `https://${host}/${path}`, secret })
    internet.handlers.set(this.url, (request) => this.fetch(request))
  }

  /** Resolves when it has received so many attempts of events. */
  async received(count: number): Promise<readonly ReceivedEvent[]> {
    while (this.events.length < count) await this.next()
    return this.events
  }

  override async fetch(request: Request): Promise<Response> {
    new Webhook(this.secret).verify(await request.clone().text(), Object.fromEntries(request.headers))
    return super.fetch(request)
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
