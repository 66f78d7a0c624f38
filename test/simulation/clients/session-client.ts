/** A client of Streamable HTTP with a session: protocol version 2025-11-25. It asserts what it has a right to expect. */
import assert from 'node:assert/strict'
import { readNonce } from '../../../worker/sealing/seal.ts'
import { type ClientRequest, type ClientWorld, type ReceivedResponse, url } from '../client-world.ts'
import { eventsOf } from './event-stream.ts'
import { unlessLost } from './unless-lost.ts'

export type Message = {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }

/** What a client knows of a call. */
export class Call {
  readonly id: number
  readonly tool: string
  readonly args: CallArguments
  /** The stream of its events, by their ids, and the last of them. */
  stream: string | undefined
  lastEventId: string | undefined
  /** Settles once the client has an event id, or will never have one. */
  readonly known = Promise.withResolvers<void>()
  /** The call, and the requests of the same POST that are not answered. */
  readonly open: Set<Message['id']>
  answer: Message | undefined
  readonly progress: number[] = []
  /** Requests and notifications of the server, without progress and requests about a task. */
  readonly received: Message[] = []
  isCancelling = false
  /** When the server has acknowledged the cancellation, in milliseconds since 1970. */
  cancelledAt: number | undefined
  /** `unknown`: the client lost the connection before it knew the stream. */
  outcome: 'answered' | 'cancelled' | 'unknown' | undefined

  constructor(id: number, tool: string, args: CallArguments) {
    this.id = id
    this.tool = tool
    this.args = args
    this.open = new Set([id])
  }

  get questions(): number {
    return this.received.filter(({ id }) => id !== undefined).length
  }

  get isOver(): boolean {
    return this.open.size === 0 || this.outcome !== undefined
  }
}

type CallOptions = {
  /** For a client that leaves after the first event and returns two minutes later: whether the call has ended by then. */
  readonly awayUntil?: () => boolean
  /** Called with the call when it is sent. */
  readonly onSent?: (call: Call) => void
  /** An id of a call that was cancelled. Default: a new one. */
  readonly id?: number
  /** Default: the call of the tool. */
  readonly request?: { readonly method: string; readonly params: object }
  /** Methods without parameters that are called in the same POST. Default: the POST is no batch. */
  readonly batch?: readonly string[]
}

export type SessionClientOptions = {
  readonly protocolVersion?: string
  readonly capabilities?: object
  /** Returns the result of a request of the server; `undefined`: the client does not answer. Default: accepts with the message. */
  readonly answer?: (request: Message) => object | undefined
}

/** Seconds without reading after which a client may be disconnected: two intervals between keep-alive comments. */
const disconnectedAfter = 30

const mayMiss = ({ args }: Call): boolean => args.steps > keptNotifications

const acceptMessage = ({ params }: Message) => ({ action: 'accept', content: { word: params?.message } })

export type CallArguments = {
  readonly key: string
  readonly steps: number
  readonly pauseMs: number
  /** Bytes of each event, and of the result, besides what they say. Default: 0. */
  readonly bytes?: number
  /** Steps with pauses and bytes. The others follow at once. Default: 100. */
  readonly pauses?: number
  readonly resultBytes?: number
}

/** Notifications of a stream that its log keeps: of more, a client that reads late misses the oldest. */
export const keptNotifications = 1000

export class SessionClient {
  readonly world: ClientWorld
  headers: Record<string, string> = json
  /** Requests that `ask` has sent. */
  requests = 0
  /** An access token or API key. Default: none. */
  token: string | undefined
  /** Whether its token may not read all events: it receives none of the others. */
  readsPart = false
  /** The last event of the stream of `listen`. */
  #lastHeardId: string | undefined
  readonly #replies: Promise<void>[] = []
  readonly #options: Required<SessionClientOptions>
  #lastId = 0

  constructor(world: ClientWorld, options: SessionClientOptions = {}) {
    this.world = world
    const capabilities = { elicitation: {} }
    this.#options = { protocolVersion: '2025-11-25', capabilities, answer: acceptMessage, ...options }
  }

  /** The name of the session, as handlers know it. */
  get name(): string {
    return String(readNonce(String(this.headers['Mcp-Session-Id'])))
  }

  /** Uses the session no more, until it has expired. */
  async expire(mostHours = 27): Promise<void> {
    await Promise.all(this.#replies)
    // The stream of a client that vanished may break later, and the session is idle from then on.
    const hours = mostHours + (this.world.faultCount > 0 ? 24 : 0)
    for (let hour = 0; hour < hours; hour += 1) await this.world.sleep(3_600_000)
    for (const [object, rows] of this.world.stored('McpSession')) {
      assert.ok(object !== this.name, `an idle session stores ${JSON.stringify(rows).slice(0, 400)}`)
    }
  }

  /** Starts a session. */
  async open(): Promise<void> {
    const { protocolVersion, capabilities } = this.#options
    const params = { protocolVersion, capabilities, clientInfo: { name: 'simulated', version: '1' } }
    for (let attempt = 0; ; attempt += 1) {
      const { response, text } = await this.sendUntil([200], () => this.post({ id: 0, method: 'initialize', params }))
      const session = response.headers.get('mcp-session-id')
      if (session) {
        this.headers = { ...json, 'Mcp-Session-Id': session, 'MCP-Protocol-Version': protocolVersion }
        return
      }
      this.#noteServerError(text)
      assert.ok(attempt < 20, text)
      await this.world.sleep(500)
    }
  }

  /** Ends the session. */
  async close(): Promise<void> {
    await Promise.all(this.#replies)
    await this.sendUntil([200, 202, 204, 404], () => this.#request({ method: 'DELETE', headers: this.headers }))
    await this.sendUntil([404], () => this.post({ id: 'after the end', method: 'ping' }))
  }

  /** Repeats a request until its network and its server are there. */
  async sendUntil(
    statuses: readonly number[],
    send: () => Promise<ReceivedResponse>,
  ): Promise<{ response: ReceivedResponse; text: string }> {
    for (let attempt = 0; ; attempt += 1) {
      const answer = await unlessLost(async () => {
        const response = await send()
        return { response, text: await response.body.text() }
      })
      if (answer && statuses.includes(answer.response.status)) return answer
      if (answer) assert.ok(answer.response.status >= 500, `status ${answer.response.status}: ${answer.text}`)
      assert.ok(attempt < 40, 'The server does not come back')
      await this.world.sleep(500)
    }
  }

  /** Sends a request without a stream of its own, until it is answered. */
  async ask(method: string, params: object): Promise<Message> {
    for (let attempt = 0; ; attempt += 1) {
      const { text } = await this.sendUntil([200], () => {
        this.#lastId += 1
        this.requests += 1
        return this.post({ id: this.#lastId, method, params })
      })
      const data = text.startsWith('{') ? text : /^data: (\{.*"(?:result|error)":.*)$/m.exec(text)?.[1]
      const message: Message | undefined = data === undefined ? undefined : JSON.parse(data)
      if (message && message.error?.code !== -32603) return message
      if (data) this.#noteServerError(data)
      assert.ok(attempt < 20, `${method}: ${text}`)
      await this.world.sleep(500)
    }
  }

  /** Sends a notification or an answer until it is acknowledged. */
  async tell(message: object): Promise<void> {
    await this.sendUntil([202], () => this.post(message))
  }

  /** Cancels a call. */
  async cancel(call: Call): Promise<void> {
    call.isCancelling = true
    await this.tell({ method: 'notifications/cancelled', params: { requestId: call.id, reason: 'enough' } })
    call.cancelledAt = this.world.now()
  }

  /** Calls a tool, and resumes the stream of the call until the answer, or until the call was cancelled. */
  async call(tool: string, args: CallArguments, options: CallOptions = {}): Promise<Call> {
    const { awayUntil, onSent, id, batch, request } = options
    if (id === undefined) this.#lastId += 1
    const call = new Call(id ?? this.#lastId, tool, args)
    onSent?.(call)
    const others = batch?.map((method, index) => ({ id: `${method} ${index} of ${call.id}`, method }))
    for (const other of others ?? []) call.open.add(other.id)
    const leave = new AbortController()
    const onEvent = () => {
      if (awayUntil && (tool === 'count' || call.questions > 0)) leave.abort()
    }
    const params = { name: tool, arguments: args, _meta: { progressToken: args.key } }
    let retryMs = 1000
    const message = { id: call.id, ...(request ?? { method: 'tools/call', params }) }
    await unlessLost(async () => {
      // The calls of a batch run one after the other.
      const response = await this.post(others ? [...others, message] : message, leave.signal)
      retryMs = await this.#readResponse(call, response, retryMs, onEvent)
    })
    // A call whose question was lost waits for its client.
    const canGoOn = tool === 'count' || call.questions > 0
    if (awayUntil && canGoOn && call.lastEventId !== undefined && !call.answer) {
      await this.world.sleep(120_000)
      if (this.world.quietMs > 60_000) assert.ok(awayUntil(), `${args.key}: the call stopped while its client was away`)
    }
    for (let attempt = 0; !call.isOver; attempt += 1) {
      if (call.lastEventId === undefined) {
        call.known.resolve()
        call.outcome = 'unknown'
        return call
      }
      assert.ok(attempt < 60, `${args.key}: no answer after ${attempt} connections`)
      await this.world.sleep(retryMs)
      const headers = { ...this.headers, Accept: 'text/event-stream', 'Last-Event-ID': call.lastEventId }
      await unlessLost(async () => {
        const response = await this.#request({ method: 'GET', headers })
        retryMs = await this.#readResponse(call, response, retryMs)
      })
    }
    call.known.resolve()
    call.outcome ??= 'answered'
    return call
  }

  async #readResponse(call: Call, response: ReceivedResponse, retryMs: number, onEvent = () => {}): Promise<number> {
    const { status, headers, body } = response
    if (status !== 200 || headers.get('content-type')?.startsWith('application/json')) {
      const text = await body.text()
      // The stream has ended without an answer.
      if (status === 405 && call.isCancelling) call.outcome = 'cancelled'
      // The event was deleted: an hour after the end of the stream, or because there were too many.
      else if (status === 400 && (this.world.lateSeconds > 3600 || mayMiss(call))) call.outcome = 'unknown'
      else assert.ok(status === 200 || status >= 500, `${call.args.key}: ${status} after ${call.lastEventId}: ${text}`)
      if (status !== 200) return retryMs
      for (const message of [JSON.parse(text)].flat()) this.#take(call, message)
      assert.ok(call.isOver, `${call.args.key}: the response lacks answers: ${text}`)
      return retryMs
    }
    return this.#readStream(call, response, retryMs, onEvent)
  }

  /** Reads the events of a call: each of them once, in order, and none after the answer. Returns the time until the next connection. */
  async #readStream(call: Call, { body }: ReceivedResponse, before: number, onEvent: () => void): Promise<number> {
    const { key } = call.args
    let wait = before
    const checkEnd = async () => {
      for (let seconds = 0; !body.hasEnded; seconds += 1) {
        assert.ok(seconds < 60 + this.world.lateSeconds, `${key}: the stream goes on after the answer`)
        await this.world.sleep(1000)
      }
    }
    for await (const { id, event, retryMs, data } of eventsOf(body)) {
      wait = retryMs ?? wait
      if (id === undefined) continue
      // One with a type is the start of an event that was deleted before its client had the rest. Its id counts, as for the standard.
      if (event !== undefined) {
        assert.ok(mayMiss(call), `${key}: event ${id} was cut, and not deleted`)
        call.lastEventId = id
        continue
      }
      const [stream, position] = id.split('.')
      call.stream ??= stream
      assert.equal(stream, call.stream, `${key}: an event of another stream`)
      call.known.resolve()
      if (!data) {
        call.lastEventId ??= id
        continue
      }
      const last = Number((call.lastEventId ?? '.0').split('.')[1])
      const isNext = mayMiss(call) ? Number(position) > last : Number(position) === last + 1
      assert.ok(isNext, `${key}: event ${id} after ${call.lastEventId}`)
      assert.ok(!call.isOver, `${key}: an event after the answer`)
      call.lastEventId = id
      this.#take(call, JSON.parse(data))
      if (call.isOver) this.world.beside(checkEnd())
      onEvent()
    }
    // Clients of older versions take the end of a stream as final. One that reads nothing for some time is disconnected.
    const { protocolVersion } = this.#options
    const isFinal = protocolVersion < '2025-11-25' && !call.isCancelling && this.world.heldSeconds < disconnectedAfter
    assert.ok(call.isOver || !isFinal, `${key}: the stream of a client of ${protocolVersion} ended before the answer`)
    return wait
  }

  #take(call: Call, message: Message): void {
    const { key } = call.args
    if (message.method === undefined) {
      assert.ok(call.open.delete(message.id), `${key}: the answer to another call, or a second one: ${message.id}`)
      if (message.id === call.id) call.answer = message
    } else if (message.method === 'notifications/progress') {
      assert.equal(message.params?.progressToken, key, `${key}: the progress of another call`)
      const { message: text, progress } = message.params ?? {}
      const { bytes = 0, pauses = 100 } = call.args
      const isLarge = bytes > 0 && Number(progress) <= pauses
      assert.equal(String(text).length, isLarge ? bytes : key.length, `${key}: a part of an event`)
      call.progress.push(Number(message.params?.progress))
    } else {
      const isAboutTask = message.method === 'tasks/get' || message.method === 'tasks/result'
      if (!isAboutTask) call.received.push(message)
      const result = message.id === undefined ? undefined : this.#options.answer(message)
      if (!result) return
      const replying = this.#reply(message.id, result)
      this.#replies.push(replying)
      this.world.beside(replying)
    }
  }

  async #reply(id: Message['id'], result: object): Promise<void> {
    await this.world.sleep(this.world.random.between(0, 3000))
    await this.tell({ id, result })
  }

  /**
   * Reads the stream of messages that belong to no call, until it is told to stop. Each event arrives once, in order.
   *
   * @param onOpen called once the client has an event id
   */
  async listen(onMessage: (message: Message) => void, stop: AbortSignal, onOpen: () => void): Promise<void> {
    let waitMs = 1000
    while (!stop.aborted) {
      const headers = {
        ...this.headers,
        Accept: 'text/event-stream',
        ...(this.#lastHeardId !== undefined && { 'Last-Event-ID': this.#lastHeardId }),
      }
      await unlessLost(async () => {
        const response = await this.#request({ method: 'GET', headers }, stop)
        const { status, body } = response
        if (status !== 200) {
          const text = await body.text()
          assert.ok(status >= 500, `stream after ${this.#lastHeardId}: status ${status}: ${text}`)
          return
        }
        let isPrimed = false
        // A client without an event id loses what comes while it is away.
        const checkPriming = async () => {
          // A clock that jumps ends one of them early.
          for (let seconds = 0; seconds < 10 + this.world.heldSeconds && !isPrimed; seconds += 1)
            await this.world.sleep(1000)
          assert.ok(isPrimed || body.hasEnded, 'an open stream has sent no event id for ten seconds')
        }
        this.world.beside(checkPriming())
        for await (const { id, retryMs, data } of eventsOf(body)) {
          waitMs = retryMs ?? waitMs
          if (id === undefined) continue
          isPrimed = true
          if (data) {
            const before = this.#lastHeardId?.split('.')[1]
            const skipped = Number(id.split('.')[1]) - Number(before ?? 0) - 1
            if (before)
              assert.ok(this.readsPart ? skipped >= 0 : skipped === 0, `stream: event ${id} after ${this.#lastHeardId}`)
            onMessage(JSON.parse(data))
          }
          this.#lastHeardId = id
          onOpen()
        }
      })
      if (!stop.aborted) await this.world.sleep(waitMs)
    }
  }

  /** A fault may fail a request. Without one, the schedule fails. */
  #noteServerError(text: string): void {
    assert.ok(text.includes('"code":-32603'), text)
    this.world.serverErrors.push(text.slice(0, 200))
  }

  /** Sends messages once. */
  post(message: object | readonly object[], leave?: AbortSignal): Promise<ReceivedResponse> {
    const written = (one: object) => ({ jsonrpc: '2.0', ...one })
    const body = JSON.stringify(Array.isArray(message) ? message.map(written) : written(message))
    return this.#request({ method: 'POST', headers: this.headers, body }, leave)
  }

  #request(init: ClientRequest, leave?: AbortSignal): Promise<ReceivedResponse> {
    const authorization = this.token !== undefined && { Authorization: `Bearer ${this.token}` }
    return this.world.request(url, { ...init, headers: { ...init.headers, ...authorization } }, leave)
  }
}
