/** What one stream of a session must carry, and the connections that bring it, one after another. */
import { setTimeout } from 'node:timers/promises'

/** The line of a session that streams need. */
export type Line = {
  /** GET, after an event when one is named. */
  get(after: string | undefined, signal: AbortSignal): Promise<Response>
  /** Makes sure that somebody does what is due: an object that was lost does nothing before it is asked something. */
  wake(): Promise<void>
  /** What a message says, in short. */
  telling(message: object): string
  /** Streams begin with an event without data, and the client may be sent away to come back. */
  readonly polling: boolean
  /** Its sockets were cut once; the Worker dials again when it likes. */
  readonly wasCut: boolean
  fail(problem: string): void
}

export class Stream {
  readonly name: string
  readonly line: Line
  /** What it carries, in order; written down before the server is asked to say it. */
  readonly carries: string[] = []
  /** The id of each event as it was first seen; number 0 came without data, before the first. */
  readonly ids: string[] = []
  /** Each event as it was first seen, to the byte. */
  readonly frames: string[] = []
  /** Numbers of the events the client has taken in, whatever else has reached it. It may come back with each of them. */
  readonly known = new Set<number>()
  isOver = false
  connection: Connection | undefined
  /** Connections the client left; the Worker may not have noticed. */
  left = 0
  /** How often one of those may still take the place of a living one, because the Worker dials again for it. */
  excuses = 0

  constructor(name: string, line: Line) {
    this.name = name
    this.line = line
  }

  get last(): number {
    return this.carries.length
  }

  /** A connection that brings what comes after this event. */
  attach(response: Response, stop: AbortController, after: number, isPrimed: boolean): Connection {
    if (response.status !== 200) this.line.fail(`${this.name} is answered ${response.status} after event ${after}`)
    const connection = new Connection(this, after, isPrimed)
    void connection.read(response, stop)
    return connection
  }

  async resume(after: number): Promise<Connection> {
    const stop = new AbortController()
    return this.attach(await this.line.get(this.ids[after], stop.signal), stop, after, this.line.polling)
  }

  /** Takes one event in: it must be the one with this number. */
  take(number: number, id: string, data: string): void {
    const { carries, frames, line, name } = this
    const told = line.telling(JSON.parse(data))
    const due = carries[number - 1] ?? 'nothing'
    if (told !== due) line.fail(`event ${number} of ${name} is "${told}" instead of "${due}"`)
    this.identify(number, id)
    frames[number] ??= data
    if (frames[number] !== data) line.fail(`event ${number} of ${name} was ${frames[number]} and is ${data} now`)
  }

  identify(number: number, id: string): void {
    const { ids, line, name } = this
    if (ids[number] === undefined && ids.includes(id)) line.fail(`the id ${id} comes twice on ${name}`)
    ids[number] ??= id
    if (ids[number] !== id) line.fail(`event ${number} of ${name} had the id ${ids[number]} and has ${id} now`)
  }

  /** The client takes in what this connection brings, up to this event. */
  async hear(connection: Connection, number: number): Promise<void> {
    await connection.until(number)
    if (connection.isPrimed && !this.ids[connection.after]) this.line.fail(`${this.name} does not begin with an id`)
    for (let each = connection.after; each <= number; each++) {
      if (each > connection.after || connection.isPrimed) this.known.add(each)
    }
  }

  /** Is there a connection that brings whatever is said next? */
  get isHeard(): boolean {
    return this.connection !== undefined && this.connection.endsAfter === undefined
  }

  /** The client leaves, without a word. */
  leave(): void {
    this.connection?.drop()
    this.connection = undefined
    this.left += 1
    if (this.line.wasCut) this.excuses += 1
  }

  /** Another connection takes the place of the one there is. */
  async replace(connect: () => Promise<Connection>): Promise<void> {
    const older = this.connection
    if (older && this.isHeard && !this.isOver) {
      // After a cut nobody knows which of the two is dialled last.
      if (this.line.wasCut) this.leave()
      else older.endsAfter = this.last
    }
    this.connection = await connect()
    if (older?.endsAfter !== undefined) await this.hearOut(older)
  }

  /** The client takes in everything that a connection brings until the server ends it. */
  async hearOut(connection: Connection): Promise<void> {
    await this.hear(connection, connection.endsAfter ?? this.last)
    await connection.untilEnd()
  }

  /** The client comes back, with the id of one of the events it has taken in. */
  async comeBack(chance: number): Promise<void> {
    // Whoever is sent away has the id to come back with from the connection that ends.
    if (this.connection && !this.isHeard) await this.hearOut(this.connection)
    await this.replace(() => this.resume(this.knownAt(chance)))
  }

  /** @param chance from 0 to 1 */
  knownAt(chance: number): number {
    const known = [...this.known].sort((one, other) => one - other)
    return known[Math.floor(chance * known.length)] as number
  }
}

const patience = 60_000

/** One connection. Each event it brings must be the next one of its stream. */
export class Connection {
  readonly stream: Stream
  /** The number of the event it goes on after. */
  readonly after: number
  /** It begins with an id. */
  readonly isPrimed: boolean
  /** The server ends it after this event. */
  endsAfter: number | undefined
  /** The server says with its end when to come back. */
  isSentAway = false
  readonly ended: Promise<void>
  readonly #end: () => void
  #taken: number
  #began = false
  /** The response being read begins with the id of the last event that was received. */
  #awaitsId = false
  #retry: number | undefined
  #stop: AbortController | undefined
  #isDropped = false
  #waiting: { number: number; go: () => void }[] = []

  constructor(stream: Stream, after: number, isPrimed: boolean) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.stream = stream
    this.after = after
    this.isPrimed = isPrimed
    this.ended = promise
    this.#end = resolve
    this.#taken = after
  }

  async read(response: Response, stop: AbortController): Promise<void> {
    this.#stop = stop
    this.#awaitsId = this.isPrimed
    try {
      for await (const frame of framesOf(response)) this.#take(frame)
    } catch (problem) {
      if (!this.#isDropped) this.stream.line.fail(`a connection of ${this.stream.name} broke: ${problem}`)
    }
    if (!this.#isDropped) await this.#finish()
  }

  /** Resolves when it has brought this event, and the id it begins with. */
  async until(number: number): Promise<void> {
    await this.stream.line.wake()
    if (this.#reached(number)) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push({ number, go: resolve })
    await this.#soon(promise, `event ${number} of ${this.stream.name} does not come, only ${this.#taken} did`)
  }

  /** Resolves when the server has ended it. */
  async untilEnd(): Promise<void> {
    await this.stream.line.wake()
    await this.#soon(this.ended, `a connection of ${this.stream.name} does not end after event ${this.#taken}`)
  }

  drop(): void {
    this.#isDropped = true
    this.#stop?.abort()
    this.#end()
  }

  async #soon(promise: Promise<void>, otherwise: string): Promise<void> {
    const late = new AbortController()
    const timeout = setTimeout(patience, true, { signal: late.signal }).catch(() => false)
    if ((await Promise.race([promise, timeout])) === true) this.stream.line.fail(otherwise)
    late.abort()
  }

  #reached(number: number): boolean {
    return this.#taken >= number && (this.#began || !this.isPrimed)
  }

  #take(frame: string): void {
    const { stream } = this
    const { id, retry, data } = fieldsOf(frame)
    if (retry !== undefined) this.#retry = Number(retry)
    if (id !== undefined && data !== undefined && data !== '') {
      if (this.#awaitsId) stream.line.fail(`a connection of ${stream.name} brings an event before its first id`)
      this.#taken += 1
      if (this.endsAfter !== undefined && this.#taken > this.endsAfter) {
        stream.line.fail(`a connection of ${stream.name} that had to end after event ${this.endsAfter} brings more`)
      }
      stream.take(this.#taken, id, data)
    } else if (id !== undefined) {
      if (!this.#awaitsId) stream.line.fail(`${stream.name} brings ${JSON.stringify(frame)}`)
      this.#awaitsId = false
      this.#began = true
      stream.identify(this.#taken, id)
    } else if (retry === undefined) {
      stream.line.fail(`${stream.name} brings ${JSON.stringify(frame)}`)
    }
    for (const { go } of this.#waiting.filter(({ number }) => this.#reached(number))) go()
  }

  /** The server has ended it: because it was to, or because another connection of this client took its place. */
  async #finish(): Promise<void> {
    const { stream } = this
    const due = this.endsAfter ?? (stream.isOver ? stream.last : undefined)
    if (this.#taken === due) {
      if (this.isSentAway && this.#retry !== 10) stream.line.fail(`${stream.name} does not say when to come back`)
      return this.#end()
    }
    const id = stream.ids[this.#taken]
    if (stream.excuses === 0 || id === undefined) {
      return stream.line.fail(`a connection of ${stream.name} ends after event ${this.#taken}, not ${due}`)
    }
    stream.excuses -= 1
    const stop = new AbortController()
    this.#stop = stop
    const response = await stream.line.get(id, stop.signal).catch(() => undefined)
    if (this.#isDropped || !response) return
    if (response.status === 405 && stream.isOver && this.#taken === stream.last) return this.#end()
    if (response.status !== 200) return stream.line.fail(`${stream.name} is answered ${response.status} after ${id}`)
    await this.read(response, stop)
  }
}

/** The frames of an event stream, without its comments. */
async function* framesOf(response: Response): AsyncGenerator<string> {
  let rest = ''
  for await (const text of (response.body as ReadableStream<Uint8Array>).pipeThrough(
    new TextDecoderStream() as never,
  )) {
    const frames = (rest + text).split('\n\n')
    rest = frames.pop() as string
    for (const frame of frames) if (!frame.startsWith(':')) yield frame
  }
  if (rest !== '') throw new Error(`The stream ends within ${JSON.stringify(rest)}`)
}

function fieldsOf(frame: string): { id?: string; retry?: string; data?: string } {
  return Object.fromEntries(
    frame.split('\n').map((line) => {
      const colon = line.indexOf(': ')
      return [line.slice(0, colon), line.slice(colon + 2)]
    }),
  )
}
