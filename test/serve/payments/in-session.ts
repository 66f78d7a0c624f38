/** A transfer within a session: one call, whose questions come on its stream and whose answers are requests of their own. */
import { setTimeout } from 'node:timers/promises'
import { events, isEventStream } from '../../../worker/client/wire.ts'
import type { Chance } from '../../support/random.ts'
import {
  amountOf,
  answerTo,
  consentQuestion,
  isLarge,
  nonsenseTo,
  nothing,
  type Payment,
  type Question,
  receiptIn,
  refusal,
  type Said,
  thanksQuestion,
  yes,
} from './answers.ts'
import { again, type Conversation, type Fail, type Fate, type Move, once, type Way } from './scene.ts'
import type { Session } from './session.ts'

type Outcome = { text?: string; isError?: boolean; error?: { code: number; data?: { reason?: string } } }

type Message = {
  id?: number | string
  method?: string
  params?: { message?: string; requestId?: string }
  result?: { content: { text: string }[]; isError?: boolean }
  error?: Outcome['error']
}

const patience = 60_000
/** A client that comes back this often to hear nothing new has no patience either. */
const mostReturns = 50

const refused = 'the client says it cannot ask'

export class SessionPayment implements Conversation, Payment {
  readonly to: string
  readonly amount: number
  readonly #tool: string
  readonly #session: Session
  readonly #by: Chance
  readonly #fail: Fail
  #id: number | string
  #stage: 'new' | Question | 'over' = 'new'
  /** The ids of the questions. */
  readonly #asked = new Map<Question, string>()
  /** What was said first to each question: one of these counts, and nothing that was said later. */
  readonly #said = new Map<Question, Said[]>()
  #outcome: Outcome | undefined
  #isCancelled = false
  #mayBeInterrupted = false
  /** The stream was heard to its end. */
  #hasEnded = false
  #firstEvent: string | undefined
  #lastEvent: string | undefined
  #connection: AbortController | undefined
  #returns = 0
  #calls = 0
  #waiting: { is: () => boolean; go: () => void }[] = []

  constructor(to: string, tool: string, session: Session, by: Chance, fail: Fail) {
    this.to = to
    this.amount = amountOf(by)
    this.#tool = tool
    this.#session = session
    this.#by = by
    this.#fail = fail
    this.#id = this.#nextId()
  }

  draw(): Move | undefined {
    const moves: [number, () => Move | undefined][] = {
      new: (): [number, () => Move][] => [[1, () => this.#call()]],
      consent: () => this.#whileAsked('consent'),
      thanks: () => this.#whileAsked('thanks'),
      over: (): [number, () => Move | undefined][] => [
        [2, () => this.#hearAgain()],
        [2, () => this.#answerAgain()],
        [1, () => this.#callAgain()],
        [1, () => this.#cancel()],
        [1, () => this.#evict()],
      ],
    }[this.#stage]()
    return this.#by.one(moves.flatMap(([weight, move]) => Array<() => Move | undefined>(weight).fill(move)))()
  }

  #whileAsked(question: Question): [number, () => Move | undefined][] {
    const by = this.#by
    const way = () => by.one([once, once, ...again])
    return [
      [9, () => this.#answer(question, [answerTo(question, by)], way())],
      [2, () => this.#answer(question, [answerTo(question, by), refusal(by)], once)],
      [1, () => this.#answer(question, [nonsenseTo(question, by)], way())],
      [2, () => this.#answerAndCancel(question)],
      [isLarge(this) ? 8 : 1, () => this.#answerAndLose(question)],
      [question === 'consent' ? 1 : 0, () => this.#refuse()],
      [2, () => this.#answerUnknown()],
      [question === 'thanks' ? 2 : 0, () => this.#answerAgain()],
      [1, () => this.#postAgain()],
      [2, () => this.#leave()],
      [2, () => this.#comeBack()],
      [3, () => this.#evict()],
      [1, () => this.#cancel()],
    ]
  }

  finish(): Move | undefined {
    if (this.#stage === 'new') return this.#call()
    if (this.#stage === 'over') return undefined
    return this.#answer(this.#stage, [answerTo(this.#stage, this.#by)], once)
  }

  check(receipts: readonly string[]): void {
    const { to } = this
    const consents = this.#said.get('consent') ?? []
    const thanks = this.#said.get('thanks') ?? []
    const most = consents.some((said) => said.consents) ? 1 : 0
    const least = this.#asked.has('thanks') ? 1 : 0
    if (receipts.length < least || receipts.length > most) {
      this.#fail(`${to} was charged ${receipts.length} times instead of ${least} to ${most}`)
    }
    const outcome = this.#outcome
    if (!outcome) {
      if (!this.#isCancelled) this.#fail(`${to} has no end`)
      return
    }
    const { text, error } = outcome
    const last = this.#asked.has('thanks') ? thanks : consents
    const isDue =
      (receipts.length === 1 && thanks.some((said) => said.fits && receiptIn(text, this, said.note) === receipts[0])) ||
      (receipts.length === 0 && text === nothing && consents.some((said) => said.fits && !said.consents)) ||
      (receipts.length === 0 && outcome.isError && consents.some((said) => said.says === refused)) ||
      (outcome.isError && /^The answer to "/.test(text ?? '') && last.some((said) => !said.fits)) ||
      (error?.data?.reason === 'interrupted' && this.#mayBeInterrupted)
    if (!isDue) this.#fail(`${to} was charged for ${receipts} and is told ${JSON.stringify(outcome)}`)
  }

  // Calls

  #call(): Move {
    const fate: Fate = this.#by.one(['heard', 'heard', 'lost', 'cut'])
    const cutAfter = this.#by.between(0, 12)
    const trouble = fate === 'heard' ? '' : `, ${fate === 'lost' ? 'loses the stream' : 'is cut off'}, and calls anew`
    const fresh = this.#nextId()
    this.#stage = 'consent'
    return {
      says: `${this.to} calls${trouble}`,
      play: async () => {
        if (fate !== 'heard') {
          // Nobody will ever answer what this one asks.
          await this.#session.sendOff(this.#message(), fate, cutAfter)
          this.#id = fresh
        }
        const stop = new AbortController()
        const response = await this.#session.post(this.#message(), stop.signal)
        if (!isEventStream(response)) return this.#fail(`${this.to} calls and is told ${await response.text()}`)
        this.#connection = stop
        void this.#read(response, stop)
        await this.#until(() => this.#asked.has('consent'), 'the question for consent')
      },
    }
  }

  /** The same request, while it is being answered. */
  #postAgain(): Move {
    const count = this.#by.whole(1, 2)
    return {
      says: `${this.to} posts the same call again${count === 2 ? ', twice at once' : ''}`,
      play: async () => {
        await Promise.all(
          Array.from({ length: count }, async () => {
            const text = await (await this.#session.post(this.#message())).text()
            if (!text.includes('is in use by a request in progress')) this.#fail(`${this.to} posts again: ${text}`)
          }),
        )
      },
    }
  }

  /** The same request, when it has been answered, is another conversation. Nobody answers its question. */
  #callAgain(): Move | undefined {
    if (this.#calls > 0) return undefined
    this.#calls += 1
    return {
      says: `${this.to} posts the same call again, although it is over`,
      play: async () => {
        const stop = new AbortController()
        const response = await this.#session.post(this.#message(), stop.signal)
        for await (const { data } of events(response)) {
          if (data === '') continue
          const message = JSON.parse(data) as Message
          if (message.params?.message !== consentQuestion(this)) this.#fail(`${this.to} calls again and hears ${data}`)
          break
        }
        stop.abort()
      },
    }
  }

  #message(): object {
    const { to, amount } = this
    return { id: this.#id, method: 'tools/call', params: { name: this.#tool, arguments: { to, amount } } }
  }

  #nextId(): number | string {
    const number = this.#by.below(1e9)
    return this.#by.rarely(2) ? number : `${this.to}, ${number}`
  }

  // Answers

  #answer(question: Question, answers: readonly Said[], way: Way): Move {
    const by = this.#by
    const isAway = by.rarely(6)
    const cutAfter = by.between(0, 12)
    this.#say(question, answers)
    const said = answers.map(({ says }) => `"${says}"`).join(' and at once ')
    return {
      says: `${this.to} answers ${said} to ${question}${way.says}${isAway ? ', and comes back afterwards' : ''}`,
      play: async () => {
        if (isAway) this.#drop()
        await Promise.all(answers.map((answer) => this.#tell(question, answer, way, cutAfter)))
        await this.#settle(question)
      },
    }
  }

  #answerAndCancel(question: Question): Move {
    const answer = answerTo(question, this.#by)
    const cutAfter = this.#by.between(0, isLarge(this) ? 60 : 6)
    this.#say(question, [answer])
    this.#stage = 'over'
    this.#isCancelled = true
    return {
      says: `${this.to} answers "${answer.says}" to ${question}, and cancels ${cutAfter.toFixed(1)} ms later`,
      play: async () => {
        const answered = this.#tell(question, answer, once, 0)
        await setTimeout(cutAfter)
        await Promise.all([answered, this.#tellCancelled()])
      },
    }
  }

  /** While the handler goes on, its object is lost. */
  #answerAndLose(question: Question): Move {
    const answer = answerTo(question, this.#by)
    const lostAfter = this.#by.between(0, isLarge(this) ? 60 : 6)
    this.#say(question, [answer])
    return {
      says: `${this.to} answers "${answer.says}" to ${question}, and its object is lost ${lostAfter.toFixed(1)} ms later`,
      alone: true,
      play: async () => {
        this.#mayBeInterrupted = true
        await this.#tell(question, answer, once, 0)
        await setTimeout(lostAfter)
        await this.#session.lose()
        await this.#settle(question)
      },
    }
  }

  #refuse(): Move {
    this.#say('consent', [{ says: refused, fits: true, consents: false, note: undefined, result: {} }])
    return {
      says: `${this.to} refuses to be asked`,
      play: async () => {
        const error = { code: -1, message: refused }
        await this.#session.tell({ id: this.#asked.get('consent'), error }, once, 0)
        await this.#settle('consent')
      },
    }
  }

  #answerUnknown(): Move {
    const id = this.#by.one<string | number>(['ask-999999', 'ask-0', 'ask-01', 'x', 1, ''])
    const way = this.#by.one([once, ...again])
    return {
      says: `${this.to} answers "yes" to ${JSON.stringify(id)}, which nobody asked${way.says}`,
      play: () => this.#session.tell({ id, result: yes.result }, way, 5),
    }
  }

  /** What was answered stays answered. */
  #answerAgain(): Move | undefined {
    const by = this.#by
    const question = by.one([...this.#said.keys()])
    if (!question) return undefined
    const answer = by.one([yes, refusal(by), nonsenseTo(question, by)])
    const way = by.one([once, ...again])
    return {
      says: `${this.to} answers ${question} again, now with "${answer.says}"${way.says}`,
      play: () => this.#tell(question, answer, way, 5),
    }
  }

  #say(question: Question, answers: readonly Said[]): void {
    this.#said.set(question, [...answers])
    // Until it is known what came of it.
    this.#stage = question === 'consent' && answers.every(({ consents }) => consents) ? 'thanks' : 'over'
  }

  async #tell(question: Question, { result }: Said, way: Way, cutAfter: number): Promise<void> {
    await this.#session.tell({ id: this.#asked.get(question), result }, way, cutAfter)
  }

  async #settle(question: Question): Promise<void> {
    const isAskedMore = () => question === 'consent' && this.#asked.has('thanks')
    await this.#until(() => this.#outcome !== undefined || isAskedMore(), `what comes after ${question}`)
    this.#stage = this.#outcome ? 'over' : 'thanks'
  }

  #cancel(): Move {
    const isOver = this.#stage === 'over'
    if (!isOver) this.#isCancelled = true
    this.#stage = 'over'
    return {
      says: `${this.to} cancels`,
      play: async () => {
        await this.#tellCancelled()
        if (!isOver && this.#connection) await this.#until(() => this.#hasEnded, 'the end of the cancelled call')
      },
    }
  }

  #tellCancelled(): Promise<void> {
    return this.#session.tell({ method: 'notifications/cancelled', params: { requestId: this.#id } }, once, 0)
  }

  // Connections

  #leave(): Move | undefined {
    return {
      says: `${this.to} leaves`,
      play: async () => this.#drop(),
    }
  }

  #comeBack(): Move | undefined {
    return {
      says: `${this.to} comes back`,
      play: async () => {
        this.#drop()
        this.#resume()
      },
    }
  }

  /** A stream that is over brings the same again. */
  #hearAgain(): Move {
    return {
      says: `${this.to} hears its call again`,
      play: async () => {
        if (!this.#firstEvent || !this.#outcome) return
        const stop = new AbortController()
        const response = await this.#session.get(this.#firstEvent, stop.signal)
        // It was heard to its end with the first event.
        if (response.status === 405) return void (await response.body?.cancel())
        let heard: string | undefined
        for await (const { data } of events(response)) heard = data === '' ? heard : data
        const outcome = heard && outcomeIn(JSON.parse(heard))
        if (JSON.stringify(outcome) !== JSON.stringify(this.#outcome)) {
          this.#fail(`${this.to} heard ${JSON.stringify(this.#outcome)} and hears ${heard} now`)
        }
      },
    }
  }

  /** Between rounds, when nothing is going on. */
  #evict(): Move {
    const webSockets = this.#by.one(['close', 'hibernate'] as const)
    return {
      says: `the object of ${this.#session.name} is evicted (${webSockets})`,
      alone: true,
      play: () => this.#session.evict(webSockets),
    }
  }

  #drop(): void {
    // Without an id there would be no way back.
    if (!this.#lastEvent) return
    this.#connection?.abort()
    this.#connection = undefined
  }

  #resume(): void {
    if (this.#connection || !this.#lastEvent) return
    const stop = new AbortController()
    this.#connection = stop
    void this.#goOn(stop)
  }

  async #goOn(stop: AbortController): Promise<void> {
    try {
      this.#returns += 1
      if (this.#returns > mostReturns) return this.#fail(`${this.to} comes back again and again`)
      const response = await this.#session.get(this.#lastEvent as string, stop.signal)
      if (isEventStream(response)) return await this.#read(response, stop)
      await response.body?.cancel()
      if (response.status !== 405) this.#fail(`${this.to} comes back and is answered ${response.status}`)
      this.#end()
    } catch (problem) {
      if (!stop.signal.aborted) this.#fail(`${this.to} cannot come back: ${problem}`)
    }
  }

  async #read(response: Response, stop: AbortController): Promise<void> {
    try {
      for await (const { id, data } of events(response)) {
        if (stop.signal.aborted) return
        this.#firstEvent ??= id
        this.#lastEvent = id ?? this.#lastEvent
        if (data !== '') this.#hear(JSON.parse(data))
      }
    } catch (problem) {
      if (!stop.signal.aborted) this.#fail(`a connection of ${this.to} broke: ${problem}`)
    }
    if (stop.signal.aborted) return
    if (this.#outcome) return this.#end()
    // The server may end a connection at any time, as long as it can be taken up again.
    if (this.#lastEvent) return this.#goOn(stop)
    if (!this.#isCancelled) this.#fail(`the stream of ${this.to} ends before anything came`)
    this.#end()
  }

  #hear(message: Message): void {
    const { id, method, params } = message
    if (method === 'elicitation/create') {
      const question = params?.message === thanksQuestion ? 'thanks' : 'consent'
      if (question === 'consent' && params?.message !== consentQuestion(this)) {
        this.#fail(`${this.to} is asked ${params?.message}`)
      }
      if (this.#asked.has(question)) this.#fail(`${this.to} is asked twice: ${question}`)
      this.#asked.set(question, String(id))
    } else if (method === 'notifications/cancelled') {
      if (!this.#isCancelled) this.#fail(`a question of ${this.to} is withdrawn`)
    } else if (id === this.#id && method === undefined) {
      if (this.#outcome) this.#fail(`${this.to} is answered twice`)
      this.#outcome = outcomeIn(message)
    } else this.#fail(`${this.to} hears ${JSON.stringify(message)}`)
    this.#notice()
  }

  #end(): void {
    this.#hasEnded = true
    if (!this.#outcome && !this.#isCancelled) this.#fail(`the stream of ${this.to} ends without an answer`)
    this.#notice()
  }

  #notice(): void {
    for (const { is, go } of this.#waiting) if (is()) go()
  }

  /** The client listens until this has come. */
  async #until(is: () => boolean, what: string): Promise<void> {
    this.#resume()
    await this.#session.wake()
    if (is()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push({ is, go: resolve })
    const late = new AbortController()
    const timeout = setTimeout(patience, true, { signal: late.signal }).catch(() => false)
    if ((await Promise.race([promise, timeout])) === true) this.#fail(`${what} of ${this.to} does not come`)
    late.abort()
  }
}

const outcomeIn = ({ result, error }: Message): Outcome =>
  result ? { text: result.content[0]?.text, isError: result.isError } : { error }
