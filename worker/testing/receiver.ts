/** A receiver of webhooks: the callback URL of an agent that subscribes to events of the server under test. */
import { isSigned, newSecret, webhookOf } from '../client/webhook.ts'
import type { Params } from '../protocol/types.ts'

/** Holds an attempt to deliver an event, whose signature matched. */
export type ReceivedEvent = {
  /** Id of the event, which repetitions have, too. */
  readonly id: string
  /** Id of the subscription. */
  readonly subscription: string
  /** Name of the event. */
  readonly name: string
  /** When the event was published, such as `2026-11-30T10:00:00.000Z`. */
  readonly timestamp: string
  /** The payload. */
  readonly data: Params
}

/** Holds a challenge, with which the server verifies the callback URL. Its signature matched. */
export type ReceivedChallenge = {
  /** Id of the message. */
  readonly id: string
  /** Id of the subscription. */
  readonly subscription: string
  /** What the receiver returns. */
  readonly challenge: string
}

/** Holds the message that the server has ended a subscription. Its signature matched. */
export type ReceivedTermination = {
  /** Id of the message. */
  readonly id: string
  /** Id of the subscription. */
  readonly subscription: string
  /** Why it has ended. */
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** Answers a webhook: with a status, with a response, or never. */
export type ReceiverAnswer = number | Response | 'never'

/** Answers webhooks: a function, or a list of answers that are used in order. */
export type ReceiverAnswers<Received> =
  | readonly ReceiverAnswer[]
  | ((received: Received) => ReceiverAnswer | Promise<ReceiverAnswer>)

/** Configures `startReceiver()`. */
export type ReceiverOptions = {
  /** The callback URL. Default: one of its own, with a public host. */
  url?: string
  /** Secret of the subscription: `whsec_` and 24 to 64 bytes in base64. Default: a new one. */
  secret?: string
  /** Answers to events. Default, and after the end of a list: status 204. */
  answers?: ReceiverAnswers<ReceivedEvent>
  /** Answers to challenges. Default, and after the end of a list: the challenge, with status 200. */
  challengeAnswers?: ReceiverAnswers<ReceivedChallenge>
}

/** Receives the events of subscriptions. `startReceiver()` returns one that has an address. */
export class Receiver implements Disposable {
  /** The callback URL. */
  readonly url: string
  /** Secret of the subscription. */
  readonly secret: string
  /** Attempts so far, oldest first. */
  readonly events: ReceivedEvent[] = []
  /** Challenges so far, oldest first. */
  readonly challenges: ReceivedChallenge[] = []
  /** Subscriptions that the server has ended so far, oldest first. */
  readonly terminations: ReceivedTermination[] = []
  #answers: ReceiverAnswers<ReceivedEvent>
  #challengeAnswers: ReceiverAnswers<ReceivedChallenge>
  readonly #unread: (ReceivedEvent | Error)[] = []
  readonly #readers: PromiseWithResolvers<ReceivedEvent>[] = []

  /** Creates a receiver that gets its requests by `fetch()`. */
  constructor({ url, secret, answers = [], challengeAnswers = [] }: ReceiverOptions = {}) {
    this.url = new URL(url ?? `https://receiver.example/${crypto.randomUUID()}`).href
    this.secret = secret ?? newSecret()
    this.#answers = answers
    this.#challengeAnswers = challengeAnswers
  }

  /** The member `delivery` of the params of `events/subscribe`. */
  get delivery(): { readonly mode: 'webhook'; readonly url: string; readonly secret: string } {
    return { mode: 'webhook', url: this.url, secret: this.secret }
  }

  /** Replaces the answers to events. */
  set answers(answers: ReceiverAnswers<ReceivedEvent>) {
    this.#answers = answers
  }

  /** Replaces the answers to challenges. */
  set challengeAnswers(answers: ReceiverAnswers<ReceivedChallenge>) {
    this.#challengeAnswers = answers
  }

  /**
   * Resolves with the first attempt that it has not returned yet, when it is there: also with one that `answers` refuses.
   *
   * @throws Error for a webhook whose signature does not match
   */
  next(): Promise<ReceivedEvent> {
    const reader = Promise.withResolvers<ReceivedEvent>()
    // A test may call it, do something, and await it then.
    reader.promise.catch(() => {})
    const unread = this.#unread.shift()
    if (unread) answerReader(reader, unread)
    else this.#readers.push(reader)
    return reader.promise
  }

  /**
   * Answers a request: with status 401 if its signature does not match. The time of the signature is not compared, because the clock of the server
   * can be ahead.
   */
  async fetch(request: Request): Promise<Response> {
    const { headers, signal } = request
    const text = await request.text()
    const webhook = webhookOf(headers, text)
    if (!(await isSigned(webhook, this.secret))) {
      this.#add(new Error(`${this.url} received a webhook whose signature does not match its secret: ${text}`))
      return new Response(null, { status: 401 })
    }
    const { type, challenge, error, name, timestamp, data } = JSON.parse(text)
    const { id, subscription } = webhook
    if (type === 'verification') {
      const received: ReceivedChallenge = { id, subscription, challenge }
      this.challenges.push(received)
      const { answer, rest } = next(this.#challengeAnswers, received)
      this.#challengeAnswers = rest
      return responseOf((await answer) ?? Response.json({ challenge }), signal)
    }
    if (type === 'terminated') {
      this.terminations.push({ id, subscription, error })
      return new Response(null, { status: 204 })
    }
    const received: ReceivedEvent = { id, subscription, name, timestamp, data }
    this.events.push(received)
    const { answer, rest } = next(this.#answers, received)
    this.#answers = rest
    this.#add(received)
    return responseOf((await answer) ?? 204, signal)
  }

  #add(received: ReceivedEvent | Error): void {
    const reader = this.#readers.shift()
    if (reader) answerReader(reader, received)
    else this.#unread.push(received)
  }

  /** Gives up the URL. */
  [Symbol.dispose](): void {
    if (started.get(this.url) === this) started.delete(this.url)
  }
}

function answerReader({ resolve, reject }: PromiseWithResolvers<ReceivedEvent>, received: ReceivedEvent | Error): void {
  if (received instanceof Error) reject(received)
  else resolve(received)
}

type Answer = ReceiverAnswer | undefined | Promise<ReceiverAnswer>

/** @returns the answer, `undefined` after the end of a list, and the answers that remain */
function next<R>(
  answers: ReceiverAnswers<R>,
  received: R,
): { readonly answer: Answer; readonly rest: ReceiverAnswers<R> } {
  if (typeof answers === 'function') return { answer: answers(received), rest: answers }
  const [answer, ...rest] = answers
  return { answer, rest }
}

/** @throws the reason of the signal, when the server no longer waits */
function responseOf(answer: ReceiverAnswer, signal: AbortSignal): Response | Promise<Response> {
  if (typeof answer === 'number') return new Response(null, { status: answer })
  if (answer !== 'never') return answer
  // No event comes when it has happened before.
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<Response>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}

/** Receivers, by URL. */
const started = new Map<string, Receiver>()
let isIntercepting = false

/**
 * Starts a receiver of events. Until it is disposed, it answers what the server under test sends to its URL with `fetch`: inside workerd, and
 * in Node.js for a server that `startServer()` of `edgemcp/testing/node`, or `createTestHarness()` of wrangler, starts.
 *
 * @throws Error when another receiver has the URL
 * @see https://github.com/modelcontextprotocol/modelcontextprotocol/pull/3415
 *
 * @example
 * using receiver = startReceiver({ answers: [503] })
 * const { delivery } = receiver
 * await client.request('events/subscribe', { name: 'order.paid', arguments: {}, delivery })
 * await client.callTool('pay_order', { id: '7' })
 * const { data } = await receiver.next()
 */
export function startReceiver(options: ReceiverOptions = {}): Receiver {
  const receiver = new Receiver(options)
  if (started.has(receiver.url)) throw new Error(`Two receivers have the URL ${receiver.url}: dispose the first one`)
  if (!isIntercepting) interceptFetch()
  started.set(receiver.url, receiver)
  return receiver
}

function interceptFetch(): void {
  isIntercepting = true
  const real = globalThis.fetch
  globalThis.fetch = (input, init) => {
    const receiver = started.get(input instanceof Request ? input.url : String(URL.parse(String(input))))
    return receiver ? receiver.fetch(new Request(input, init)) : real(input, init)
  }
}
