/** The answers of a test client to input requests. */
import type { InputRequest, Params } from '../protocol/types.ts'

/** Returns the answer to an input request. @param key the key of the input request */
type Answer = (params: Params, key: string) => unknown

/**
 * Answers input requests by kind: a function of the params, or a list of answers and functions that are used in order. A kind without
 * answers is rejected, and the client does not declare its capability.
 */
export type Answers = {
  /** Answers to `elicitation/create`, such as `{ action: 'accept', content: { sure: true } }`. Default: rejected. */
  elicit?: Answer | readonly unknown[]
  /** Answers to `sampling/createMessage`. Default: rejected. */
  sample?: Answer | readonly unknown[]
  /** Answers to `roots/list`, such as `{ roots: [{ uri: 'file:///home' }] }`. Default: rejected. */
  roots?: (() => unknown) | readonly unknown[]
}

/** Holds a scripted answer that no input request has used. */
export type UnusedAnswer = {
  /** Kind of the input request: `elicit`, `sample` or `roots`. */
  readonly kind: keyof Answers
  /** The answer of the list. */
  readonly answer: unknown
}

const kinds: Readonly<Record<string, keyof Answers>> = {
  'elicitation/create': 'elicit',
  'sampling/createMessage': 'sample',
  'roots/list': 'roots',
}

export class Script {
  readonly #answers: Answers
  readonly #used = { elicit: 0, sample: 0, roots: 0 }
  /** Input requests after the end of a list. The server gets an error, too, but not the reason. */
  readonly #unanswered: Error[] = []

  constructor(answers: Answers) {
    this.#answers = answers
  }

  get unused(): UnusedAnswer[] {
    return Object.values(kinds).flatMap((kind) => {
      const answers = this.#answers[kind]
      return isList(answers) ? answers.slice(this.#used[kind]).map((answer) => ({ kind, answer })) : []
    })
  }

  /** @throws Error that names the input request, if it has no answer */
  async answer(request: InputRequest, key: string): Promise<Params> {
    const { method } = request
    const params: Params = request.params ?? {}
    const kind = kinds[method]
    const answers = kind && this.#answers[kind]
    if (!kind || !answers) throw new Error(`This client has no answer to ${method}`)
    const answer = isList(answers) ? this.#next(kind, answers, params) : answers
    // What a list holds is as free as what a function returns.
    return (isAnswer(answer) ? await answer(params, key) : answer) as Params
  }

  /** Rejects a call during which an input request had no answer, whatever the server returned. */
  async holds<T>(call: Promise<T>): Promise<T> {
    const outcome = await call.then(
      (value) => ({ value }),
      (problem: unknown) => ({ problem }),
    )
    const unanswered = this.#unanswered.shift()
    if (unanswered) throw unanswered
    if ('problem' in outcome) throw outcome.problem
    return outcome.value
  }

  #next(kind: keyof Answers, answers: readonly unknown[], params: Params): unknown {
    const index = this.#used[kind]
    if (index < answers.length) {
      this.#used[kind] += 1
      return answers[index]
    }
    const key = JSON.stringify(kind === 'roots' ? 'roots/list' : (params.message ?? params))
    const problem = new Error(
      `The server requested ${key}, but answers.${kind} has no answer left: all ${answers.length} were used`,
    )
    this.#unanswered.push(problem)
    throw problem
  }
}

const isAnswer = (answer: unknown): answer is Answer => typeof answer === 'function'
const isList = (answers: unknown): answers is readonly unknown[] => Array.isArray(answers)
