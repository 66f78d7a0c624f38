/** Those who listen for changes, in the three ways there are: a stream of changes, a session, a session over HTTP+SSE. */
import type { Event } from '../../../worker/client/event-stream-reader.ts'
import { Stream } from './stream.ts'

/** `issuer`: left out, the one that all people of the random schedules have. */
export type Person = { issuer?: string; subject: string; tenant: string | undefined }

/** A list's name, or a URI. */
export type Word = string

export const lists: readonly Word[] = ['tools', 'prompts', 'resources']

export const isList = (word: Word) => lists.includes(word)

/** May this person read it, as the server has it? Or, for a template: all that it serves? */
export function mayRead({ subject, tenant }: Person, word: Word): boolean {
  if (word.startsWith('diary:')) return subject.startsWith('ada')
  if (word.startsWith('ledger:')) return tenant?.startsWith('acme') === true
  if (word.startsWith('board:')) return subject.startsWith('bob')
  if (/^memo:.*\/secret$/.test(word)) return subject.startsWith('ada')
  // Who may read a letter depends on the letter.
  const [, addressee] = /^letter:.*\/(.*)$/.exec(word) ?? []
  if (addressee) return subject.startsWith(addressee)
  return true
}

type Answer = { result?: { [member: string]: unknown }; error?: { code: number; message: string } }
type Message = Answer & { id?: number; method?: string; params?: { [member: string]: unknown } }

/** Milliseconds. */
const patience = 60_000

export abstract class Ear {
  readonly name: string
  readonly person: Person
  /** Changes that it heard of, oldest first. */
  readonly heard: Word[] = []
  /** What it listens to: lists, URIs, and templates. */
  readonly listens = new Set<Word>()
  /** It has a stream. */
  isThere = false
  /** What was wrong with what it was told. */
  readonly complaints: string[] = []
  protected readonly url: URL
  #wakers = new Set<() => void>()
  #lastId = 0

  constructor(name: string, person: Person, url: URL) {
    this.name = name
    this.person = person
    this.url = url
  }

  /** Begins to listen to these. */
  abstract open(words: readonly Word[]): Promise<void>
  abstract leave(): Promise<void>
  abstract end(): Promise<void>

  /** Waits until something is true that changes when it hears something. False when that takes too long. */
  async until(isTrue: () => boolean): Promise<boolean> {
    if (isTrue()) return true
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const look = () => isTrue() && resolve(true)
    this.#wakers.add(look)
    const timer = setTimeout(resolve, patience, false)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      this.#wakers.delete(look)
    }
  }

  protected nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  protected get headers(): Record<string, string> {
    return {
      Authorization: `Bearer ${btoa(JSON.stringify(this.person))}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    }
  }

  protected take(message: Message): void {
    if (message.method === 'notifications/resources/updated') this.heard.push(String(message.params?.uri))
    const [, list] = /^notifications\/(\w+)\/list_changed$/.exec(message.method ?? '') ?? []
    if (list) this.heard.push(list)
    for (const wake of this.#wakers) wake()
  }
}

/** Without a session: a stream for as long as it listens. What happens while it is away it does not hear. */
export class Listener extends Ear {
  #stream: Stream | undefined

  async open(words: readonly Word[]): Promise<void> {
    const id = this.nextId()
    const notifications = {
      ...Object.fromEntries(words.filter(isList).map((list) => [`${list}ListChanged`, true])),
      resourceSubscriptions: words.filter((word) => !isList(word)),
    }
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const { promise: acknowledged, resolve } = Promise.withResolvers<Message>()
    const method = 'subscriptions/listen'
    const init = {
      method: 'POST',
      headers: { ...this.headers, 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { notifications, _meta } }),
    }
    this.#stream = await Stream.open(this.url, init, ({ data }) => {
      const message: Message = JSON.parse(data)
      if (message.method === 'notifications/subscriptions/acknowledged') resolve(message)
      this.take(message)
    })
    const { params } = await acknowledged
    const granted = words.filter((word) => mayRead(this.person, word))
    const expected = { ...notifications, resourceSubscriptions: granted.filter((word) => !isList(word)) }
    const actual = params?.notifications
    if (JSON.stringify(sorted(actual as object)) !== JSON.stringify(sorted(expected))) {
      this.complaints.push(`asked for ${JSON.stringify(notifications)} and got ${JSON.stringify(actual)}`)
    }
    this.listens.clear()
    for (const word of granted) this.listens.add(word)
    this.isThere = true
  }

  async leave(): Promise<void> {
    this.isThere = false
    await this.#stream?.leave()
  }

  end(): Promise<void> {
    return this.leave()
  }
}

const sorted = (members: object) => Object.fromEntries(Object.entries(members).sort())

/** In a session one hears of every list, and of the resources that one subscribes to. */
export abstract class SessionEar extends Ear {
  protected abstract request(method: string, params: object): Promise<Answer>

  async subscribe(word: Word): Promise<void> {
    const { error } = await this.request('resources/subscribe', { uri: word })
    const isRefused = error?.code === -32002
    if (isRefused === mayRead(this.person, word)) {
      this.complaints.push(`subscribes to ${word} and is told ${JSON.stringify(error ?? 'yes')}`)
    }
    if (!error) this.listens.add(word)
  }

  async unsubscribe(word: Word): Promise<void> {
    const { error } = await this.request('resources/unsubscribe', { uri: word })
    if (error) this.complaints.push(`unsubscribes from ${word} and is told ${JSON.stringify(error)}`)
    this.listens.delete(word)
  }

  protected async begin(words: readonly Word[]): Promise<void> {
    this.listens.clear()
    for (const list of lists) this.listens.add(list)
    for (const word of words) if (!isList(word)) await this.subscribe(word)
    this.isThere = true
  }

  protected handshake(revision: string) {
    const clientInfo = { name: 'tenants', version: '1.0.0' }
    return { protocolVersion: revision, capabilities: {}, clientInfo }
  }
}

/** Over Streamable HTTP one may leave and come back for what one missed. */
export class HttpEar extends SessionEar {
  readonly #revision: string
  #session: Record<string, string> | undefined
  #stream: Stream | undefined
  #lastEvent: string | undefined

  constructor(name: string, person: Person, url: URL, revision: string) {
    super(name, person, url)
    this.#revision = revision
  }

  async open(words: readonly Word[]): Promise<void> {
    const response = await this.#post('initialize', this.handshake(this.#revision))
    await response.body?.cancel()
    const id = response.headers.get('Mcp-Session-Id') as string
    this.#session = { 'Mcp-Session-Id': id, 'MCP-Protocol-Version': this.#revision }
    await this.comeBack(false)
    await this.begin(words)
  }

  /** @param forMissed from after the last event, or from now on */
  async comeBack(forMissed: boolean): Promise<void> {
    const lastEvent = forMissed ? this.#lastEvent : undefined
    const headers = { ...this.headers, ...this.#session, ...(lastEvent && { 'Last-Event-ID': lastEvent }) }
    this.#stream = await Stream.open(this.url, { headers }, (event) => this.#hear(event))
    this.isThere = true
  }

  /** It can name an event to go on after. */
  get canMiss(): boolean {
    return this.#lastEvent !== undefined
  }

  async leave(): Promise<void> {
    this.isThere = false
    await this.#stream?.leave()
  }

  async end(): Promise<void> {
    await this.leave()
    const response = await fetch(this.url, { method: 'DELETE', headers: { ...this.headers, ...this.#session } })
    if (response.status !== 204) this.complaints.push(`ends its session and is told ${response.status}`)
  }

  #hear({ id, data }: Event): void {
    this.#lastEvent = id ?? this.#lastEvent
    if (data !== '') this.take(JSON.parse(data))
  }

  protected async request(method: string, params: object): Promise<Answer> {
    return (await this.#post(method, params)).json() as Promise<Answer>
  }

  #post(method: string, params: object): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.nextId(), method, params })
    return fetch(this.url, { method: 'POST', headers: { ...this.headers, ...this.#session }, body })
  }
}

/** Over HTTP+SSE the stream is the session. */
export class SseEar extends SessionEar {
  readonly #answers = new Map<number, (answer: Answer) => void>()
  #stream: Stream | undefined
  #endpoint: URL | undefined

  async open(words: readonly Word[]): Promise<void> {
    const { promise: endpoint, resolve } = Promise.withResolvers<string>()
    this.#stream = await Stream.open(new URL('sse', this.url), { headers: this.headers }, ({ event, data }) => {
      if (event === 'endpoint') return resolve(data)
      const message: Message = JSON.parse(data)
      if (message.id !== undefined) this.#answers.get(message.id)?.(message)
      this.take(message)
    })
    this.#endpoint = new URL(await endpoint, this.url)
    await this.request('initialize', this.handshake('2024-11-05'))
    await this.begin(words)
  }

  async leave(): Promise<void> {
    this.isThere = false
    await this.#stream?.leave()
  }

  end(): Promise<void> {
    return this.leave()
  }

  protected async request(method: string, params: object): Promise<Answer> {
    const id = this.nextId()
    const { promise, resolve } = Promise.withResolvers<Answer>()
    this.#answers.set(id, resolve)
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
    const response = await fetch(this.#endpoint as URL, { method: 'POST', headers: this.headers, body })
    if (response.status !== 202) throw new Error(`${method} is answered ${response.status}`)
    return promise
  }
}
