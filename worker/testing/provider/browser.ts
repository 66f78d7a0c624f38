/** A browser with cookies of each origin, and a user who signs in to a fake provider and answers consent pages. */

/** What the user answers. */
type Decision = {
  /** On the consent page: the name of a provider, or `deny`. */
  readonly decision?: string | undefined
  readonly scopes?: readonly string[] | undefined
  /** On the page that asks for an organization. */
  readonly tenant?: string | undefined
}

/** Pages and redirects of one sign-in. */
const maxSteps = 12

export class Browser {
  /** Pages that were shown. */
  readonly pages: string[] = []
  /** Paths that were visited, with their statuses. */
  readonly visited: string[] = []
  readonly #cookies = new Map<string, Map<string, string>>()
  readonly #login: string | undefined

  /** @param options `login`: who signs in to a fake provider that asks */
  constructor({ login }: { readonly login?: string } = {}) {
    this.#login = login
  }

  /**
   * Opens the authorization page, answers it, and follows all redirects to the client.
   *
   * @returns the parameters that the client receives at its redirect URI
   * @throws Error with the text of a page that is no consent page, and for a page that asks for an organization, without one to choose
   */
  async authorize(authorization: URL, answer: Decision): Promise<URLSearchParams> {
    const back = authorization.searchParams.get('redirect_uri') ?? ''
    let url = new URL(authorization)
    let body: URLSearchParams | undefined
    for (let steps = 0; steps < maxSteps; steps++) {
      const response = await this.visit(url, body)
      const location = response.headers.get('Location')
      if (location?.startsWith(back)) return new URL(location).searchParams
      body = undefined
      if (location !== null) {
        url = new URL(location, url)
        continue
      }
      const page = await response.text()
      this.pages.push(page)
      if (response.status === 200 && page.includes('name="handle"')) {
        const organizations = valuesOf(page, 'tenant')
        if (organizations.length > 0 && answer.tenant === undefined && answer.decision !== 'deny') {
          const example = `tokenFor(login, { tenant: ${JSON.stringify(organizations[0])} })`
          throw new Error(`The user may act for ${organizations.join(', ')}: choose one, as in ${example}`)
        }
        body = formOf(page, answer)
        url = new URL(/<form[^>]* action="([^"]+)"/.exec(page)?.[1] ?? '', url)
      } else if (!this.#choosesUser(page, url)) throw new Error(`${url.pathname} ${response.status} ${page}`)
    }
    throw new Error('The pages send the browser in circles')
  }

  /** Opens a page, and follows all redirects. Returns the page that is shown. */
  async open(url: URL): Promise<string> {
    let target = new URL(url)
    for (let steps = 0; steps < maxSteps; steps++) {
      const response = await this.visit(target)
      const location = response.headers.get('Location')
      if (location !== null) {
        target = new URL(location, target)
        continue
      }
      const page = await response.text()
      if (!this.#choosesUser(page, target)) return page
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

  /** Chooses the user on the page of a fake provider. @returns whether it is such a page, and `url` is where it leads */
  #choosesUser(page: string, url: URL): boolean {
    if (this.#login === undefined || !page.includes(`name="login" value="${this.#login}"`)) return false
    url.searchParams.set('login', this.#login)
    return true
  }

  /** Sends a request with the cookies of its origin, and stores those of the response. */
  async visit(url: URL, body?: URLSearchParams, { headers, ...init }: RequestInit = {}): Promise<Response> {
    const cookies = this.cookiesOf(url.origin)
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

/** What a browser posts for a consent page. Default: the first provider, and all scopes that it offers. */
export function formOf(page: string, { decision, scopes, tenant }: Decision): URLSearchParams {
  const [, handle = ''] = /name="handle" value="([^"]+)"/.exec(page) ?? []
  if (tenant !== undefined && page.includes('name="tenant"')) return new URLSearchParams({ handle, tenant })
  const [provider = 'deny'] = valuesOf(page, 'decision')
  return new URLSearchParams([
    ['handle', handle],
    ['decision', decision ?? provider],
    ...(scopes ?? valuesOf(page, 'scope')).map((scope) => ['scope', scope]),
  ])
}

/** The values that a page offers under a name. */
const valuesOf = (page: string, name: string): string[] =>
  [...page.matchAll(new RegExp(`name="${name}" value="([^"]+)"`, 'g'))].map(([, value = '']) => value)
