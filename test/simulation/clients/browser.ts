/** The browser of a user, who signs in with the simulated provider and allows everything. */
import { Browser } from '../../../worker/testing/provider/browser.ts'
import type { World } from '../world.ts'

export class SimulatedBrowser extends Browser {
  readonly #world: World
  readonly #user: string
  readonly #own = new Map<string, string>()
  /** When the server has answered the last form, in milliseconds since 1970. */
  allowedAt = Number.POSITIVE_INFINITY

  constructor(world: World, user: string) {
    super()
    this.#world = world
    this.#user = user
  }

  /** @throws ConnectionLost */
  override async visit(url: URL, form?: URLSearchParams): Promise<Response> {
    if (url.host === 'provider.example') {
      return new Response(null, {
        status: 302,
        headers: { Location: this.#world.provider.authorize(url, this.#user).href },
      })
    }
    const cookie = [...this.#own].map(([name, value]) => `${name}=${value}`).join('; ')
    const { status, headers, body } = await this.#world.request(url.href, {
      method: form ? 'POST' : 'GET',
      headers: {
        cookie,
        Origin: url.origin,
        ...(form && { 'Content-Type': 'application/x-www-form-urlencoded' }),
      },
      ...(form && { body: String(form) }),
    })
    const text = await body.text()
    if (form) this.allowedAt = this.#world.now()
    for (const line of headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0/i.test(line) || value === '') this.#own.delete(name)
      else this.#own.set(name, value)
    }
    return new Response(text, { status, headers })
  }
}
