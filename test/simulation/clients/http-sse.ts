/** A client of HTTP+SSE (2024-11-05): all messages of the server arrive on one stream, which cannot be resumed. */
import assert from 'node:assert/strict'
import { type ClientWorld, ConnectionLost, url } from '../client-world.ts'
import { eventsOf } from './event-stream.ts'
import type { CallArguments, Message } from './session-client.ts'
import { unlessLost } from './unless-lost.ts'

/** As long as the stream is open, each call that was accepted is answered on it, once. */
export function httpSse(world: ClientWorld): void {
  const { random } = world
  world.start('HTTP+SSE', async () => {
    for (let streams = random.whole(1, 2); streams > 0; streams -= 1) {
      const session = new HttpSseSession(world)
      if (await session.open()) {
        const call = (index: number) => {
          const [steps, pauseMs] = [random.whole(1, 4), random.pick([0, random.between(1, 400)])]
          return session.call(random.pick(['count', 'pay']), { key: `sse ${streams}.${index}`, steps, pauseMs })
        }
        await Promise.all(Array.from({ length: random.whole(1, 3) }, (_, index) => call(index)))
      }
      session.close()
    }
  })
}

export class HttpSseSession {
  readonly #world: ClientWorld
  readonly #leave = new AbortController()
  readonly #pending = new Map<number, PendingCall>()
  #messagesUrl = ''
  #isOpen = false
  #lastId = 0

  constructor(world: ClientWorld) {
    this.#world = world
  }

  /** Opens the stream, and initializes the session. Returns false if a fault has ended the stream before. */
  async open(): Promise<boolean> {
    const opened = Promise.withResolvers<boolean>()
    const reading = this.#read(() => opened.resolve(true)).finally(() => opened.resolve(false))
    this.#world.beside(reading)
    if (!(await opened.promise)) return false
    const clientInfo = { name: 'simulated', version: '1' }
    const initialized = await this.#ask('initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo })
    return initialized?.result !== undefined
  }

  close(): void {
    this.#leave.abort()
  }

  async call(tool: string, args: CallArguments): Promise<void> {
    const { key, steps } = args
    const progress: unknown[] = []
    const params = { name: tool, arguments: args, _meta: { progressToken: key } }
    const message = await this.#ask('tools/call', params, progress)
    const runs = this.#world.written(key)
    if (tool === 'pay') assert.ok(runs <= 1, `${key} must run once, and ran ${runs} times`)
    if (!message) return
    if (message.error) {
      assert.equal(Object(message.error.data).reason, 'interrupted', `${key}: ${JSON.stringify(message.error)}`)
      return
    }
    const [content] = Object(message.result).content
    const { key: of, large = '' } = JSON.parse(content.text)
    assert.equal(of, key, `${key}: the result of another call`)
    assert.equal(large.length, args.resultBytes ?? 0, `${key}: a part of the result`)
    assert.deepEqual(
      progress,
      Array.from({ length: steps }, (_, index) => index + 1),
      `${key}: progress`,
    )
  }

  /** Sends a request. Returns `undefined` when the stream ends before its response, or the server did not accept the request. */
  async #ask(method: string, params: object, progress: unknown[] = []): Promise<Message | undefined> {
    this.#lastId += 1
    const id = this.#lastId
    const answered = Promise.withResolvers<Message | undefined>()
    this.#pending.set(id, {
      progress,
      progressToken: Object(Object(params)._meta).progressToken,
      answer: answered.resolve,
    })
    if (!this.#isOpen) return undefined
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
    const headers = { 'Content-Type': 'application/json' }
    const sent = await unlessLost(async () => {
      const response = await this.#world.request(this.#messagesUrl, { method: 'POST', headers, body })
      return { status: response.status, text: await response.body.text() }
    })
    if (sent?.status === 202) {
      const hasAnswered = await Promise.race([answered.promise.then(() => true), this.#minutes(5)])
      assert.ok(hasAnswered, `${method} ${id} was accepted, and is not answered on the open stream`)
      return answered.promise
    }
    // Without its stream, the session may have ended. A request that failed may have arrived: then its answer comes, and counts for nothing.
    // A clock that jumps by more than five minutes ends a session whose stream is being opened again.
    const hasExpired = sent?.status === 404 && this.#world.jumpedSeconds > 300
    const isExpected = sent === undefined || sent.status >= 500 || hasExpired || !this.#isOpen
    assert.ok(isExpected, `${method}: status ${sent?.status}: ${sent?.text}`)
    return undefined
  }

  async #minutes(count: number): Promise<boolean> {
    for (let minute = 0; minute < count + this.#world.lateSeconds / 60; minute += 1) await this.#world.sleep(60_000)
    return false
  }

  async #read(onOpen: () => void): Promise<void> {
    const origin = new URL(url).origin
    try {
      const headers = { Accept: 'text/event-stream' }
      const { status, body } = await this.#world.request(
        `${origin}/sse`,
        { method: 'GET', headers },
        this.#leave.signal,
      )
      assert.ok(status === 200 || status >= 500, `GET /sse: status ${status}`)
      if (status !== 200) return
      for await (const { data } of eventsOf(body)) {
        if (data?.startsWith('/messages')) {
          this.#messagesUrl = origin + data
          this.#isOpen = true
          onOpen()
        } else if (data !== undefined) this.#take(JSON.parse(data))
      }
    } catch (problem) {
      if (!(problem instanceof ConnectionLost)) throw problem
    } finally {
      this.#isOpen = false
      for (const { answer } of this.#pending.values()) answer(undefined)
    }
  }

  #take(message: Message): void {
    if (message.method === 'notifications/progress') {
      const { progressToken, progress } = Object(message.params)
      const call = [...this.#pending.values()].find((one) => one.progressToken === progressToken)
      assert.ok(call, `the progress of a call that was answered, or of another session: ${progressToken}`)
      call.progress.push(progress)
    } else if (message.method === undefined) {
      const id = Number(message.id)
      const call = this.#pending.get(id)
      assert.ok(call, `the answer ${id} came twice, or belongs to another session`)
      this.#pending.delete(id)
      call.answer(message)
    }
  }
}

type PendingCall = {
  readonly progressToken: unknown
  readonly progress: unknown[]
  readonly answer: (message: Message | undefined) => void
}
