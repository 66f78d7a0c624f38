/**
 * Warns of effects that a handler repeats for each input response: calls and writes outside of `once`, before an input request. `scope.ts`
 * assigns effects to runs of handlers; an effect that may belong to another run is not reported.
 *
 * Not detected: calls of Durable Objects and services; functions that were taken from their object before the first call of a handler
 * (`const { fetch } = globalThis`); and operations of `ctx.state` that a declaration defines, because only the Durable Object knows which
 * of them write.
 */

import type { Context } from '../../declarations/context.ts'
import type { Declarations, Instrumented } from '../../declarations/declarations.ts'
import { isAwaited, observe } from '../../declarations/tracked-promise.ts'
import { McpError } from '../../protocol/errors.ts'
import { type Effect, noticeEffects } from './notice-effects.ts'
import { replacing } from './replacing.ts'
import { isMark, type Scope, scope } from './scope.ts'
import { type Called, trace } from './trace.ts'

/** One run of a handler, and its description. */
type Running = { readonly round: Round; readonly owner: string }

type Round = {
  addEffect(effect: Effect, from: Called, owner: string): void
}

type Noted = { readonly effect: Effect; readonly owner: string; readonly place: readonly string[] }
type Asked = { readonly keys: string; state: 'open' | 'answered' | 'refused'; readonly answer: Promise<unknown> }

let runs: Scope<Running | undefined> | undefined
const reported = new Set<string>()

/**
 * Warns of effects while handlers run.
 *
 * @param env with the bindings whose writes are effects
 */
export const effectsWatcher =
  (env: object): NonNullable<Declarations['instrument']> =>
  (context) => {
    runs ??= start(env)
    return new WatchedRound(context, runs).instrumented()
  }

function start(env: object): Scope<Running | undefined> {
  const within = scope<Running | undefined>()
  noticeEffects(env, (effect, from) => {
    const running = within.get(from)
    running?.round.addEffect(effect, from, running.owner)
  })
  return within
}

/** One run of a handler: its effects and its input requests. */
class WatchedRound implements Round {
  readonly #context: Context
  readonly #within: Scope<Running | undefined>
  /** Effects and input requests, in their order. */
  readonly #entries: (Noted | Asked)[] = []
  /** Whether the handler has checked if a response exists. */
  #branches = false
  #isOver = false
  /** The input request that the next round is for. */
  #open: Asked | undefined

  constructor(context: Context, within: Scope<Running | undefined>) {
    this.#context = context
    this.#within = within
  }

  /** Returns the context of the handler, and the function that runs the handler. */
  instrumented(): Instrumented {
    return {
      context: this.#watchedContext(),
      run: (kind, item, handler) => {
        const name = 'uriTemplate' in item ? item.uriTemplate : 'uri' in item ? item.uri : item.name
        return this.#within.run({ round: this, owner: `${kind} "${name}"` }, handler)
      },
      end: () => this.#end(),
    }
  }

  addEffect(effect: Effect, from: Called, owner: string): void {
    // What depends on whether an answer is there may not happen again.
    if (this.#branches || (this.#isOver && !this.#open)) return
    const noted = { effect, owner, place: placeOf(trace(from)) }
    if (this.#open) warn(noted, 'beside', this.#open)
    else this.#entries.push(noted)
  }

  #watchedContext(): Context {
    const context = this.#context
    const within = this.#within
    return replacing(context, {
      elicit: this.#asking(context.elicit),
      elicitUrl: this.#asking(context.elicitUrl),
      sample: this.#asking(context.sample),
      roots: this.#asking(context.roots),
      requestInput: this.#asking(context.requestInput),
      inputResponse: (key) => {
        const answer = context.inputResponse(key)
        this.#branches ||= answer === undefined
        return answer
      },
      // What is no function is refused.
      once: (key, effect) =>
        context.once(key, typeof effect === 'function' ? () => within.run(undefined, effect) : effect),
      state: ((...args: Parameters<Context['state']>) =>
        watchState(context.state(...args), within)) as Context['state'], // typed by what it passes on
    })
  }

  /** Returns the function, recorded as an input request when it is called. */
  #asking<A extends unknown[], R>(question: (...args: A) => Promise<R>) {
    return (...args: A): Promise<R> => {
      const answer = question.apply(this.#context, args)
      const entry: Asked = { keys: keysOf(args[0]), state: 'open', answer }
      this.#entries.push(entry)
      observe(
        answer,
        () => {
          entry.state = 'answered'
        },
        (thrown) => {
          // Everything else says that it was not asked.
          entry.state = thrown instanceof McpError && thrown.kind === 'client_error' ? 'answered' : 'refused'
        },
      )
      return answer
    }
  }

  /** Warns of the effects before an input request that the next round is for. */
  #end(): void {
    this.#isOver = true
    this.#open = this.#entries.filter(isQuestion).find(({ state }) => state === 'open')
    if (!this.#open) return
    for (const [at, entry] of this.#entries.entries()) {
      if (isQuestion(entry)) continue
      const next = this.#entries
        .slice(at)
        .filter(isQuestion)
        .find(({ state }) => state !== 'refused')
      if (next) warn(entry, 'before', next)
      else warn(entry, 'beside', this.#open)
    }
  }
}

const isQuestion = (entry: Noted | Asked): entry is Asked => 'keys' in entry

/** The operations of a state that declares none. */
const keyValue = ['get', 'put', 'delete', 'entries', 'deleteAll']

function watchState<T>(state: T, within: Scope<Running | undefined>): T {
  // A state is an object of operations.
  const operations = Object.entries(state as Record<string, (...args: unknown[]) => unknown>)
  const isKeyValue = operations.length === keyValue.length && operations.every(([name]) => keyValue.includes(name))
  const writing = isKeyValue ? ['put', 'delete', 'deleteAll'] : ['deleteAll']
  const watching = operations.map(([name, operation]) => {
    if (!writing.includes(name)) return [name, operation]
    const call = `ctx.state(…).${name}(…)`
    return [
      name,
      function write(...args: unknown[]) {
        const running = within.get(write)
        running?.round.addEffect({ call, key: name, work: `() => ${call}` }, write, running.owner)
        return operation(...args)
      },
    ]
  })
  return Object.fromEntries(watching)
}

/** Returns the lines of the stack from the effect up to the handler, in the form in which wrangler maps lines to the sources. */
function placeOf(lines: readonly string[]): string[] {
  const end = lines.findIndex(isMark)
  const mine = end === -1 ? lines.slice(0, 1) : lines.slice(0, end)
  return mine.flatMap((line, at) => {
    const [, name = '<anonymous>', where] = /^\s+at (?:async )?(?:(.+) \()?(.+:\d+:\d+)\)?$/.exec(line) ?? []
    const isHandler = at === end - 1
    // V8 names an anonymous handler after the member that it is called as.
    const isNameless = name.endsWith('<anonymous>') || (isHandler && name === 'Object.handler')
    return where ? `    at ${isNameless ? (isHandler ? 'the handler' : 'a function') : name} (${where})` : []
  })
}

const keysOf = (first: unknown): string =>
  typeof first === 'object' && first ? Object.keys(first).join('", "') : String(first ?? 'roots')

function warn({ effect, owner, place }: Noted, relation: 'before' | 'beside', { keys, answer }: Asked): void {
  const { call, key, work } = effect
  const text = [
    relation === 'beside' && !isAwaited(answer)
      ? `The ${owner} calls ${call} without awaiting the input request "${keys}", so it happens before the answer: await the input request first`
      : `The ${owner} calls ${call} ${relation} the input request "${keys}", so it happens again with the answer: ` +
        `write await ctx.once('${key}', ${work})`,
    ...place,
  ].join('\n')
  if (reported.has(text)) return
  reported.add(text)
  // Not console.warn: wrangler prints that as it is, with lines of the bundle.
  console.error(text)
}
