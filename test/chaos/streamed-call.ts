/** A call with a stream, as a client follows it over as many connections as it takes. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import type { Message } from '../../worker/protocol/jsonrpc.ts'
import { bodyOf, events, type Session } from './session.ts'

export type Work = { key: string; steps: number; pause: number; hold?: number; diary: string }

export type Question = { id: string; receipt: string }

export class StreamedCall {
  readonly session: Session
  readonly id: number
  readonly tool: string
  readonly work: Work
  /** The stream's events by their number, as they came in. */
  readonly seen = new Map<number, string>()
  stream: number | undefined
  lastId: string | undefined
  /** Milliseconds to wait before coming back, as the server has asked. */
  retry = 0
  question: Question | undefined
  answer: Message | undefined
  /** Progress, in the order it came in. */
  readonly progress: number[] = []
  /** How many events have been held against what was seen before. */
  compared = 0
  readonly #heard: { is(): boolean; resolve(): void }[] = []

  constructor(session: Session, id: number, tool: string, work: Work) {
    this.session = session
    this.id = id
    this.tool = tool
    this.work = work
  }

  get name(): string {
    return `${this.tool} ${this.work.key}`
  }

  /** Sends the request and follows its stream. Rejects when the connection breaks. */
  async begin(): Promise<void> {
    const { key, ...rest } = this.work
    const params = { name: this.tool, arguments: { key, ...rest }, _meta: { progressToken: key } }
    const response = await this.session.post({ id: this.id, method: 'tools/call', params })
    if (response.statusCode !== 200) assert.fail(`${this.name} was refused: ${await bodyOf(response)}`)
    assert.equal(response.headers['content-type'], 'text/event-stream', `${this.name} has no stream`)
    await this.#follow(response, 0)
  }

  /** Gets the rest of the stream. Rejects when the connection breaks. */
  async resume(): Promise<void> {
    const after = this.lastId as string
    const response = await this.session.resume(after)
    if (response.statusCode !== 200) {
      assert.fail(`${this.name} got ${response.statusCode} after ${after}: ${await bodyOf(response)}`)
    }
    await this.#follow(response, Number(after.split('.')[1]))
  }

  /** Once more what came after one of the events: the same, byte for byte, and then the stream's end. */
  async compare(after: number): Promise<void> {
    const newest = Math.max(...this.seen.keys())
    const response = await this.session.resume(`${this.stream}.${after}`)
    if (after === newest) {
      assert.equal(response.statusCode, 405, `${this.name} has something after its end`)
      response.destroy()
      return
    }
    assert.equal(response.statusCode, 200, `${this.name} has nothing after ${after}`)
    await this.#follow(response, after)
  }

  /** Resolves when something has been heard. */
  hears(is: () => boolean): Promise<void> {
    if (is()) return Promise.resolve()
    return new Promise((resolve) => this.#heard.push({ is, resolve }))
  }

  async #follow(response: IncomingMessage, after: number): Promise<void> {
    let expected = after
    for await (const { id, data, retry, text } of events(response)) {
      this.retry = retry ?? this.retry
      const [stream = 0, number = 0] = id.split('.').map(Number)
      this.stream ??= stream
      this.session.streams.add(stream)
      assert.equal(stream, this.stream, `${this.name} got an event of another stream`)
      if (data !== undefined) expected += 1
      assert.equal(number, expected, `${this.name} got ${id} after ${stream}.${expected - 1}`)
      const known = this.seen.get(number)
      // Each connection begins with the id after which it continues.
      if (data === undefined) this.lastId ??= id
      else if (known !== undefined) {
        assert.equal(text, known, `${this.name}: event ${id} has changed`)
        this.compared += 1
      } else {
        this.lastId = id
        this.#take(number, text, JSON.parse(data))
      }
      for (const { is, resolve } of this.#heard) if (is()) resolve()
    }
  }

  #take(number: number, text: string, message: Message): void {
    assert.equal(this.answer, undefined, `${this.name} goes on after its answer`)
    this.seen.set(number, text)
    if (!('method' in message)) {
      assert.equal(message.id, this.id, `${this.name} got the answer to another call`)
      this.answer = message
    } else if (message.method === 'notifications/progress') {
      const { progress, progressToken } = message.params as { progress: number; progressToken: string }
      assert.equal(progressToken, this.work.key, `${this.name} heard of another call`)
      assert.equal(progress, this.progress.length + 1, `${this.name}: progress ${progress} is out of order`)
      this.progress.push(progress)
    } else {
      assert.equal(message.method, 'elicitation/create')
      assert.equal(this.question, undefined, `${this.name} asks again`)
      const [receipt = ''] = /[\da-f-]{36}/.exec(String(message.params?.message)) ?? []
      this.question = { id: String((message as { id: string }).id), receipt }
    }
  }
}
