/** What the scripts of a page send, as the browser's own tools show it: preflights, and what follows them. */
import type { Page } from 'playwright-core'

type Exchange = { readonly url: URL; readonly method: string; readonly detail: string | undefined; status?: number }

export class Network {
  readonly #exchanges: Exchange[] = []

  static async of(page: Page): Promise<Network> {
    const network = new Network()
    const open = new Map<string, Exchange>()
    const tools = await page.context().newCDPSession(page)
    tools.on('Network.requestWillBeSent', ({ requestId, request: { method, url, postData = '' }, type }) => {
      if (type === 'Document' || type === 'Script') return
      const exchange = { url: new URL(url), method, detail: detailOf(postData) }
      network.#exchanges.push(exchange)
      open.set(requestId, exchange)
    })
    tools.on('Network.responseReceived', ({ requestId, response: { status } }) => {
      const exchange = open.get(requestId)
      if (exchange) exchange.status = status
    })
    await tools.send('Network.enable')
    return network
  }

  forget(): void {
    this.#exchanges.length = 0
  }

  /** `/reg 201`, in the order of the alphabet: a preflight may be shown after what it is for. */
  preflights(...origins: string[]): string[] {
    const asked = this.#to(origins).filter(({ method }) => method === 'OPTIONS')
    return asked.map(({ url, status }) => `${url.pathname} ${status}`).sort()
  }

  /** `POST /mcp tools/list 200`, in order. Streams that a session opens beside are left out. */
  requests(...origins: string[]): string[] {
    const asked = this.#to(origins).filter(({ method, url }) => {
      return method !== 'OPTIONS' && !(method === 'GET' && url.pathname === '/mcp')
    })
    return asked.map(({ method, url: { pathname }, detail, status }) => {
      return [method, pathname, ...(detail === undefined ? [] : [detail]), status].join(' ')
    })
  }

  #to = (origins: readonly string[]) => this.#exchanges.filter(({ url }) => origins.includes(url.origin))
}

/** What a message or a form is. */
function detailOf(body: string): string | undefined {
  if (body.startsWith('{')) return JSON.parse(body).method
  return new URLSearchParams(body).get('grant_type') ?? undefined
}
