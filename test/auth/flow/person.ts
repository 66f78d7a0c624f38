/** Somebody with a browser: follows redirects, keeps cookies, answers the page that asks. */

type Fetch = (url: URL, init: RequestInit) => Promise<Response>
type Answer = { person: string; answer: 'yes' | 'no' }

export class Person {
  readonly #fetch: Fetch
  readonly #cookies = new Map<string, string>()
  readonly #answer: Answer | undefined
  /** Pages that were shown. */
  readonly pages: string[] = []

  /** @param answer to the page that asks; nobody is asked when left out */
  constructor(fetch: Fetch, answer?: Answer) {
    this.#fetch = fetch
    this.#answer = answer
  }

  /** @returns what the client is told at its own address */
  async goTo(authorization: URL): Promise<URLSearchParams> {
    const back = authorization.searchParams.get('redirect_uri') as string
    let url = authorization
    let init: RequestInit = {}
    for (let steps = 0; steps < 10; steps++) {
      const response = await this.#visit(url, init)
      const location = response.headers.get('Location')
      if (location?.startsWith(back)) return new URL(location).searchParams
      if (location !== null) {
        url = new URL(location, url)
        init = {}
      } else {
        this.pages.push(await response.text())
        if (!this.#answer || response.status !== 200) throw new Error(`${url.pathname}: ${this.pages.at(-1)}`)
        init = { method: 'POST', body: new URLSearchParams(this.#answer) }
      }
    }
    throw new Error('The authorization server sends in circles')
  }

  async #visit(url: URL, init: RequestInit): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await this.#fetch(url, { ...init, headers: { cookie }, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) as unknown as [string, string, string]
      if (value === '') this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    return response
  }
}
