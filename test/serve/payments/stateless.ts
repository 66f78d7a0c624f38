/** A transfer without a session: each round is a request of its own, and what was learned travels with the client. */
import type { Chance } from '../../support/random.ts'
import { statelessHeaders } from '../../support/stateless.ts'
import {
  amountOf,
  answerTo,
  consentQuestion,
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
import { again, type Conversation, type Fail, type Fate, givenUp, type Move, once, send, type Way } from './scene.ts'

export type Tool = {
  name: string
  /** What is charged once: a round that hears "yes", each time it is run, or all rounds of one order. */
  charges: 'each run' | 'each order'
  /** Each state takes one answer; who sends that again gets the same outcome. Otherwise the round is run again. */
  isSingle: boolean
}

type Answers = Partial<Record<Question, Said>>

/** The one answer that a question takes, when its tool is single. */
type Use = {
  readonly name: string
  wasCut: boolean
  /** What counts; until that is known, what it may be. */
  counts: Said | undefined
  readonly perhaps: Set<Said>
  /** What that answer came to. */
  outcome: string | undefined
}

/** What the client holds between two rounds. */
type State = {
  text: string
  asks: Question
  order: string
  /** What was charged on the way to it. */
  charge: string | undefined
  isSent: boolean
  /** A question that was asked again takes one answer all the same. */
  readonly use: Use
}

type Reply = {
  asks?: Question
  state?: string
  text?: string
  error?: { code: number; message: string; data?: { reason?: string } }
}

/** What a round must come to when it is run. */
type Due = { says: 'asks'; asks: Question } | { says: 'ends'; note: string | undefined } | { says: 'nothing' | 'error' }

type Round = { answers: Answers; way: Way; cutAfter: number; isSame: boolean; keeps: number }

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
}

export class StatelessPayment implements Conversation, Payment {
  readonly to: string
  readonly amount: number
  readonly #tool: Tool
  readonly #url: URL
  readonly #by: Chance
  readonly #fail: Fail
  /** Every state the client was given; a client that repeats nothing keeps the last one only. */
  #held: State[] = []
  #stage: 'new' | 'open' | 'over' = 'new'
  #requests = 0
  #orders = 0
  #runs = 0
  #uses = 0
  /** What must have been charged, and what may have been. */
  readonly #certain = new Set<string>()
  readonly #possible = new Set<string>()
  /** What the client was told of each charge. */
  readonly #receipts = new Map<string, string>()
  readonly #repeats: boolean

  /** @param repeats it sends states again, and answers nobody asked for */
  constructor(to: string, tool: Tool, url: URL, by: Chance, fail: Fail, repeats: boolean) {
    this.to = to
    this.amount = amountOf(by)
    this.#tool = tool
    this.#url = url
    this.#by = by
    this.#fail = fail
    this.#repeats = repeats
  }

  draw(): Move | undefined {
    const moves = this.#repeats ? [...this.#everyday(), ...this.#repeating()] : this.#everyday()
    const drawn = moves.flatMap(([weight, move]) => Array<() => Move | undefined>(weight).fill(move))
    return drawn.length > 0 ? this.#by.one(drawn)() : undefined
  }

  /** Moves that use each state once: any tool charges exactly once, whatever else happens. */
  #everyday(): [number, () => Move | undefined][] {
    if (this.#stage === 'new') return [[1, () => this.#begin()]]
    const state = this.#held.findLast(({ isSent }) => !isSent)
    const notice: [number, () => Move] = [1, () => this.#cancelled()]
    if (!state) return [notice]
    return [
      notice,
      [8, () => this.#answer(state, { [state.asks]: answerTo(state.asks, this.#by) }, once)],
      [1, () => this.#answer(state, { [state.asks]: answerTo(state.asks, this.#by) }, givenUp)],
      [1, () => this.#answer(state, { [state.asks]: nonsenseTo(state.asks, this.#by) }, once)],
      [1, () => this.#answer(state, {}, once)],
      [1, () => this.#alter(state)],
    ]
  }

  /**
   * Moves that use a state again, or do without one. A tool that is single takes one answer to each state; others run the
   * round again, and charge again unless their bank knows the order.
   */
  #repeating(): [number, () => Move | undefined][] {
    const by = this.#by
    const state = this.#held.length > 0 ? by.one(this.#held) : undefined
    const unasked: [number, () => Move] = [1, () => this.#answer(undefined, { consent: yes }, by.one([once, ...again]))]
    if (!state) return [unasked, [1, () => this.#begin()]]
    const way = () => by.one([once, ...again])
    return [
      unasked,
      [1, () => this.#begin()],
      [14, () => this.#answer(state, { [state.asks]: answerTo(state.asks, by) }, way())],
      [2, () => this.#answer(state, { consent: yes, thanks: answerTo('thanks', by) }, way())],
      [2, () => this.#answer(state, { consent: refusal(by), thanks: answerTo('thanks', by) }, way())],
      [1, () => this.#answer(state, { [state.asks]: nonsenseTo(state.asks, by) }, way())],
      [1, () => this.#answer(state, {}, way())],
    ]
  }

  finish(): Move | undefined {
    if (!this.#repeats) {
      const state = this.#held.findLast(({ isSent }) => !isSent)
      if (this.#stage === 'new') return this.#begin(once)
      return state && this.#answer(state, { [state.asks]: answerTo(state.asks, this.#by) }, once)
    }
    // Whoever was told of a charge hears its receipt.
    const state = this.#held.find(({ charge, isSent }) => charge && !this.#receipts.has(charge) && !isSent)
    return state && this.#answer(state, { thanks: answerTo('thanks', this.#by) }, once)
  }

  check(receipts: readonly string[]): void {
    const [least, most] = [this.#certain.size, new Set([...this.#certain, ...this.#possible]).size]
    if (receipts.length < least || receipts.length > most) {
      this.#fail(`${this.to} was charged ${receipts.length} times instead of ${least} to ${most}`)
    }
    const told = [...this.#receipts.values()]
    const unknown = told.filter((receipt) => !receipts.includes(receipt))
    if (unknown.length > 0) this.#fail(`${this.to} was never charged for the receipts ${unknown}, only ${receipts}`)
    if (new Set(told).size < told.length) this.#fail(`${this.to} got one receipt for several charges`)
    if (!this.#repeats && most > 1) this.#fail(`${this.to} consented ${most} times, which this client does not`)
  }

  // Moves

  #begin(way = this.#by.one([once, ...again])): Move {
    return this.#round('begins', undefined, {}, way)
  }

  #answer(state: State | undefined, answers: Answers, way: Way): Move {
    const said = Object.entries(answers).map(([question, { says }]) => `"${says}" to ${question}`)
    const answered = said.length > 0 ? `answers ${said.join(' and ')}` : 'answers nothing'
    const where = state ? `after state ${this.#held.indexOf(state) + 1}` : 'without a state'
    return this.#round(`${answered} ${where}`, state, answers, way)
  }

  #round(says: string, state: State | undefined, answers: Answers, way: Way): Move {
    const by = this.#by
    const [cutAfter, isSame, keeps] = [by.between(0, 12), by.rarely(2), by.below(3)]
    this.#stage = 'open'
    return {
      says: `${this.to} ${says}${way.says}`,
      play: () => this.#play(state, { answers, way, cutAfter, isSame, keeps }),
    }
  }

  /** A state is worth nothing for another payment, and is not used up by that. */
  #alter(state: State): Move {
    const change = this.#by.one([{ to: `${this.to}, not` }, { amount: this.amount + 1 }])
    return {
      says: `${this.to} wants to pay otherwise: ${JSON.stringify(change)}`,
      play: async () => {
        const id = this.#nextId()
        const reply = await this.#send(this.#bodyOf(id, state, { [state.asks]: yes }, change), 'heard', 0)
        if (reply?.error?.code !== -32602) this.#fail(`${this.to} pays ${JSON.stringify(change)}: ${telling(reply)}`)
      },
    }
  }

  /** Without sessions a request is cancelled by closing its connection: saying so does nothing. */
  #cancelled(): Move {
    return {
      says: `${this.to} says that its last request is cancelled`,
      play: async () => {
        const params = { requestId: this.#requests, reason: 'no more' }
        const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
        const headers = this.#headers('notifications/cancelled')
        const response = await fetch(this.#url, { method: 'POST', headers, body })
        await response.body?.cancel()
        if (response.status !== 202) this.#fail(`${this.to} cancels and is answered ${response.status}`)
      },
    }
  }

  // What goes out, and what must come back

  async #play(state: State | undefined, { answers, way, cutAfter, isSame, keeps }: Round): Promise<void> {
    const id = this.#nextId()
    const given: State[] = []
    if (state) state.isSent = true
    for (const together of way.sends) {
      const orders = together.map(() => state?.order ?? this.#nextOrder())
      const replies = await Promise.all(
        together.map((fate) => {
          const body = this.#bodyOf(isSame ? id : this.#nextId(), state, answers)
          return this.#send(body, fate, cutAfter)
        }),
      )
      const counted = this.#counted(state, answers)
      const isUse = this.#tool.isSingle && state && counted[state.asks]
      if (isUse && !this.#take(state.use, isUse, together, replies)) continue
      const due = dueFor(counted)
      for (const [index, fate] of together.entries()) {
        const reply = replies[index]
        const order = orders[index] as string
        const charge = state?.charge ?? this.#chargeFor(state, order)
        if (counted.consent?.consents && !state?.charge) {
          const isCertain = isUse ? state?.use.counts === isUse && !state.use.wasCut : fate !== 'cut'
          const charges = isCertain || reply ? this.#certain : this.#possible
          charges.add(charge)
        }
        if (!reply) continue
        this.#expect(reply, due, charge)
        if (due.says !== 'asks' || !reply.state) continue
        if ([...this.#held, ...given].some(({ text }) => text === reply.state)) continue
        given.push({
          text: reply.state,
          asks: due.asks,
          order,
          charge: due.asks === 'thanks' ? charge : undefined,
          isSent: false,
          use: state?.asks === due.asks ? state.use : this.#nextUse(),
        })
      }
    }
    // One that repeats nothing goes on with one of its questions.
    if (this.#repeats) this.#held.push(...given)
    else if (given.length > 0) this.#held = [given[keeps % given.length] as State]
  }

  /** What was answered stays answered, and a tool that is single hears answers to what it has just asked only. */
  #counted(state: State | undefined, answers: Answers): Answers {
    const before: Answers = state?.asks === 'thanks' ? { consent: yes } : {}
    if (!this.#tool.isSingle) return { ...answers, ...before }
    return state ? { ...before, [state.asks]: answers[state.asks] } : {}
  }

  #chargeFor(state: State | undefined, order: string): string {
    if (this.#tool.charges === 'each order') return order
    if (this.#tool.isSingle && state) return `after ${state.use.name}`
    this.#runs += 1
    return `run ${this.#runs}`
  }

  /** A question is given this answer. Returns whether that counts, or may count. */
  #take(use: Use, said: Said, fates: readonly Fate[], replies: readonly (Reply | undefined)[]): boolean {
    const heard = replies.filter((reply) => reply !== undefined)
    const isRefused = heard.every(({ error }) => error?.data?.reason === 'used')
    if (fates.includes('cut')) use.wasCut = true
    if (use.counts === undefined) {
      const isContested = [...use.perhaps].some((other) => other !== said)
      if (isContested && isRefused && heard.length > 0) return false
      if (heard.length > 0 || (fates.includes('lost') && !isContested)) use.counts = said
      else use.perhaps.add(said)
    }
    if (use.counts !== undefined && use.counts !== said) {
      if (!isRefused) this.#fail(`${this.to} changes an answer and is told ${heard.map(telling).join(' and ')}`)
      return false
    }
    for (const reply of heard) {
      const told = JSON.stringify(reply)
      use.outcome ??= told
      if (told !== use.outcome) this.#fail(`${this.to} was told ${use.outcome}, and now ${told}`)
    }
    return true
  }

  #expect(reply: Reply, due: Due, charge: string): void {
    const isDue = {
      asks: () => due.says === 'asks' && reply.asks === due.asks && reply.state !== undefined,
      nothing: () => reply.text === nothing,
      error: () => reply.error?.code === -32602,
      ends: () => due.says === 'ends' && this.#isReceipt(receiptIn(reply.text, this, due.note), charge),
    }[due.says]()
    if (!isDue) this.#fail(`${this.to} is told ${telling(reply)} instead of ${JSON.stringify(due)}, ${charge}`)
  }

  #isReceipt(receipt: string | undefined, charge: string): boolean {
    if (receipt === undefined) return false
    const known = this.#receipts.get(charge) ?? receipt
    this.#receipts.set(charge, receipt)
    return known === receipt
  }

  async #send(body: string, fate: Fate, cutAfter: number): Promise<Reply | undefined> {
    const init = { method: 'POST', headers: this.#headers('tools/call'), body }
    const response = await send(this.#url, init, fate, cutAfter)
    if (!response) return undefined
    const { result, error } = (await response.json()) as {
      result?: {
        resultType?: string
        inputRequests?: Record<string, { params: { message: string } }>
        requestState?: string
        content?: { text: string }[]
      }
      error?: Reply['error']
    }
    const [asked] = Object.entries(result?.inputRequests ?? {})
    if (asked) {
      const [question, { params }] = asked as [Question, { params: { message: string } }]
      const message = { consent: consentQuestion(this), thanks: thanksQuestion }[question]
      if (message !== params.message) this.#fail(`${this.to} is asked "${params.message}"`)
      return { asks: question, state: result?.requestState }
    }
    return { text: result?.content?.[0]?.text, error }
  }

  #headers(method: string): Record<string, string> {
    return statelessHeaders(method, method === 'tools/call' ? this.#tool.name : undefined)
  }

  #bodyOf(id: number, state: State | undefined, answers: Answers, change: object = {}): string {
    const inputResponses = Object.fromEntries(Object.entries(answers).map(([key, { result }]) => [key, result]))
    const params = {
      name: this.#tool.name,
      arguments: { to: this.to, amount: this.amount, ...change },
      _meta: meta,
      ...(state && { requestState: state.text }),
      ...(Object.keys(answers).length > 0 && { inputResponses }),
    }
    return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
  }

  #nextId = () => ++this.#requests
  #nextUse(): Use {
    this.#uses += 1
    return {
      name: `question ${this.#uses}`,
      wasCut: false,
      counts: undefined,
      perhaps: new Set(),
      outcome: undefined,
    }
  }

  #nextOrder = () => `order ${++this.#orders}`
}

function dueFor({ consent, thanks }: Answers): Due {
  if (!consent) return { says: 'asks', asks: 'consent' }
  if (!consent.fits) return { says: 'error' }
  if (!consent.consents) return { says: 'nothing' }
  if (!thanks) return { says: 'asks', asks: 'thanks' }
  return thanks.fits ? { says: 'ends', note: thanks.note } : { says: 'error' }
}

const telling = (reply: Reply | undefined) => JSON.stringify({ ...reply, state: reply?.state && 'a state' })
