/** A conversation without a session: what was learned travels with the client. */
import { statelessHeaders } from '../../support/stateless.ts'
import {
  type Asked,
  answerTo,
  type Conversation,
  callOf,
  type Ended,
  endOf,
  messageOf,
  type Trip,
} from './conversation.ts'

type Reply = Ended & { id: number; result?: { inputRequests?: Record<string, Asked>; requestState?: string } }

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
}

export class StatelessConversation implements Conversation {
  readonly traveller: string
  readonly heard: string[] = []
  end: string | undefined
  readonly returns = 0
  readonly #url: URL
  readonly #trip: Trip
  #lastId = 0
  #state: string | undefined
  #open: [key: string, asked: Asked][] = []
  #last: { params: object; reply: string } | undefined

  constructor(url: URL, trip: Trip) {
    this.#url = url
    this.#trip = trip
    this.traveller = trip.traveller
  }

  readonly leaves = false

  leave(): void {}

  begin(): Promise<void> {
    return this.#round({})
  }

  answer(): Promise<void> {
    const [key, asked] = this.#open[0] as [string, Asked]
    return this.#round({ requestState: this.#state, inputResponses: { [key]: answerTo(asked) } })
  }

  async finish(): Promise<void> {}

  async again(): Promise<boolean | undefined> {
    // Elsewhere the last round would simply be run again.
    if (!this.#trip.single || !this.#last) return undefined
    const { params, reply } = this.#last
    return (await this.#send(params)).text === reply
  }

  async close(): Promise<void> {}

  async #round(more: object): Promise<void> {
    const params = { ...callOf(this.#trip), _meta: meta, ...more }
    const { reply, text } = await this.#send(params)
    // The first round has used nothing yet.
    this.#last = 'requestState' in more ? { params, reply: text } : undefined
    const { inputRequests, requestState } = reply.result ?? {}
    this.#open = Object.entries(inputRequests ?? {})
    this.#state = requestState
    this.heard.push(...this.#open.map(([, asked]) => `asks ${messageOf(asked)}`))
    if (this.#open.length > 0) return
    this.end = endOf(reply)
    this.heard.push('ends')
  }

  /** The reply, and as a text without its id. */
  async #send(params: object): Promise<{ reply: Reply; text: string }> {
    this.#lastId += 1
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: statelessHeaders('tools/call', callOf(this.#trip).name),
      body: JSON.stringify({ jsonrpc: '2.0', id: this.#lastId, method: 'tools/call', params }),
    })
    const reply = (await response.json()) as Reply
    if (reply.id !== this.#lastId) throw new Error(`A reply to ${reply.id} instead of ${this.#lastId}`)
    return { reply, text: JSON.stringify({ ...reply, id: 0 }) }
  }
}
