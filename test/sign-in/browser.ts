/** A browser with cookies of each origin, and a user who answers consent pages. */

/** @property tenant what the user answers the page that asks for an organization */
type Decision = { readonly decision: string; readonly scopes?: readonly string[]; readonly tenant?: string }

export class Browser {
  /** Pages that were shown. */
  readonly pages: string[] = []
  /** Paths that were visited, with their statuses. */
  readonly visited: string[] = []
  readonly #cookies = new Map<string, Map<string, string>>()

  /**
   * Opens the authorization page, answers it, and follows all redirects to the client.
   *
   * @returns the parameters that the client receives at its redirect URI
   */
  async authorize(authorization: URL, answer: Decision): Promise<URLSearchParams> {
    const back = authorization.searchParams.get('redirect_uri') as string
    let url = authorization
    let body: URLSearchParams | undefined
    for (let steps = 0; steps < 12; steps++) {
      const response = await this.visit(url, body)
      const location = response.headers.get('Location')
      if (location?.startsWith(back)) return new URL(location).searchParams
      if (location !== null) {
        url = new URL(location, url)
        body = undefined
        continue
      }
      const page = await response.text()
      this.pages.push(page)
      if (response.status !== 200 || !page.includes('name="handle"')) {
        throw new Error(`${url.pathname} ${response.status} ${page}`)
      }
      body = formOf(page, answer)
      url = new URL(/<form[^>]* action="([^"]+)"/.exec(page)?.[1] ?? '', url)
    }
    throw new Error('The pages send the browser in circles')
  }

  /** Opens a page, and follows all redirects. Returns the page that is shown. */
  async open(url: URL): Promise<string> {
    let target = url
    for (let steps = 0; steps < 12; steps++) {
      const response = await this.visit(target)
      const location = response.headers.get('Location')
      if (location === null) return response.text()
      target = new URL(location, target)
    }
    throw new Error('The pages send the browser in circles')
  }

  /** Opens a page that connects a provider, presses its button, and follows all redirects. Returns the page that is shown. */
  async connect(url: URL): Promise<string> {
    const location = (await this.press(url)).headers.get('Location')
    return location === null ? 'nothing was connected' : this.open(new URL(location))
  }

  /** Opens a page that connects a provider, and presses its button. */
  async press(url: URL): Promise<Response> {
    const page = await (await this.visit(url)).text()
    const [, token = ''] = /name="token" value="([^"]+)"/.exec(page) ?? []
    return this.visit(url, new URLSearchParams({ token }))
  }

  /** Sends a request with the cookies of its origin, and stores those of the response. */
  async visit(url: URL, body?: URLSearchParams, { headers, ...init }: RequestInit = {}): Promise<Response> {
    const cookies = this.#cookies.get(url.origin) ?? new Map<string, string>()
    this.#cookies.set(url.origin, cookies)
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      ...(body && { method: 'POST', body }),
      ...init,
      headers: { cookie, ...Object.fromEntries(new Headers(headers)) },
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0/i.test(line) || value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    this.visited.push(`${body ? 'POST' : 'GET'} ${url.pathname} ${response.status}`)
    return response
  }

  /** The cookies of an origin. */
  cookiesOf(origin: string): Map<string, string> {
    return this.#cookies.get(origin) ?? new Map()
  }
}

/** What a browser posts for a consent page. Default: all scopes that it offers. */
export function formOf(page: string, { decision, scopes, tenant }: Decision): URLSearchParams {
  const [, handle = ''] = /name="handle" value="([^"]+)"/.exec(page) ?? []
  if (tenant !== undefined && page.includes('name="tenant"')) return new URLSearchParams({ handle, tenant })
  const offered = [...page.matchAll(/name="scope" value="([^"]+)"/g)].map(([, scope]) => scope as string)
  return new URLSearchParams([
    ['handle', handle],
    ['decision', decision],
    ...(scopes ?? offered).map((scope) => ['scope', scope]),
  ])
}
