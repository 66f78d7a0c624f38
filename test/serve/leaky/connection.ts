/** One HTTP request over a connection of its own, whose answer is read only as far as somebody asks for it. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'

export type Sent = { path?: string; headers?: Record<string, string>; message?: object }

/** The ways a client goes without a word: its connection is closed, or reset. */
export type Vanishing = 'FIN' | 'RST'

export class Connection {
  /** Everything that has been read. */
  text = ''
  readonly #response: IncomingMessage

  private constructor(response: IncomingMessage) {
    // A connection that was cut is an ordinary end here.
    this.#response = response.setEncoding('utf8').on('error', () => {})
  }

  static async open(url: URL, { path = url.pathname, headers = {}, message }: Sent): Promise<Connection> {
    const sending = request(new URL(path, url), {
      agent: false,
      method: message ? 'POST' : 'GET',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
    })
    sending.end(message && JSON.stringify({ jsonrpc: '2.0', ...message }))
    const [response] = (await once(sending, 'response')) as [IncomingMessage]
    sending.on('error', () => {})
    return new Connection(response)
  }

  /** Reads until a text has come once more. From then on nothing is read. */
  async readUntil(text: string): Promise<void> {
    const from = this.text.length
    while (!this.text.includes(text, from)) {
      if (!(await this.#readSome())) throw new Error(`The answer ended after: ${this.text.slice(-200)}`)
    }
  }

  async readToEnd(): Promise<void> {
    while (await this.#readSome());
  }

  /** Ends the connection like a process that is killed. */
  vanish(how: Vanishing): void {
    if (how === 'RST') this.#response.socket.resetAndDestroy()
    else this.#response.socket.destroy()
  }

  /** False at the end. */
  async #readSome(): Promise<boolean> {
    for (;;) {
      const chunk = this.#response.read() as string | null
      if (chunk !== null) {
        this.text += chunk
        return true
      }
      if (this.#response.readableEnded || this.#response.destroyed) return false
      const stop = new AbortController()
      const happenings = ['readable', 'end', 'close'].map((name) => once(this.#response, name, { signal: stop.signal }))
      await Promise.race(happenings)
      for (const happening of happenings) happening.catch(() => {})
      stop.abort()
    }
  }
}
