/** A user with a browser, at the authorize page of the example. */
export class User {
  readonly #id: string
  readonly #decision: 'approve' | 'deny'
  /** Pages that were shown. */
  readonly pages: string[] = []

  constructor(id: string, decision: 'approve' | 'deny' = 'approve') {
    this.#id = id
    this.#decision = decision
  }

  /** Opens the authorize page and answers it. Returns the parameters that the client receives at its redirect URI. */
  async authorize(url: URL): Promise<URLSearchParams> {
    const shown = await fetch(url)
    const page = await shown.text()
    this.pages.push(page)
    const handle = /name="handle" value="([^"]+)"/.exec(page)?.[1]
    if (shown.status !== 200 || handle === undefined) throw new Error(`${shown.status} ${page}`)
    const cookie = shown.headers
      .getSetCookie()
      .map((line) => line.replace(/;.*/, ''))
      .join('; ')
    const body = new URLSearchParams({ handle, user: this.#id, decision: this.#decision })
    const answered = await fetch(url, { method: 'POST', headers: { cookie }, body, redirect: 'manual' })
    return new URL(String(answered.headers.get('Location'))).searchParams
  }
}
