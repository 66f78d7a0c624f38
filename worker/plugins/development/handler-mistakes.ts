/** Warns of mistakes that only a running handler shows: what it throws, what it returns, how long it takes. */

import type { Context } from '../../declarations/context.ts'
import type { Declarations, Instrumented } from '../../declarations/declarations.ts'
import { milliseconds } from '../../declarations/duration.ts'
import { McpError } from '../../protocol/errors.ts'
import { collectMissingBindings, whereToDeclare } from './missing-bindings.ts'
import { replacing } from './replacing.ts'

type Instrument = NonNullable<Declarations['instrument']>

/** A handler that takes longer may never end. */
const slowAfterMs = 10_000
/** A tool that sleeps longer should be a task. */
const maxSleepMs = 60_000
/** Few clients and no models take more characters. */
const maxCharacters = 4_000_000
/** Shorter values of `env` may be in a message by chance. */
const minSecretCharacters = 8

const secretNames = /SECRET|TOKEN|PASS|KEY|CREDENTIAL/i

const printed = new Set<string>()

function warnOnce(text: string): void {
  if (printed.has(text)) return
  printed.add(text)
  console.warn(text)
}

/** @param hasStore whether `resultStore()` stores large results @param inner also watches handlers */
export const mistakesWatcher =
  (declarations: Declarations, env: object, hasStore: boolean, inner: Instrument): Instrument =>
  (context) => {
    const run = new WatchedRun(declarations, env, hasStore)
    return run.instrumented(inner(run.watchedContext(context)))
  }

/** One run of a handler. */
class WatchedRun {
  readonly #declarations: Declarations
  readonly #env: object
  readonly #hasStore: boolean
  readonly #missing = collectMissingBindings()
  /** Keys of `ctx.once` whose effects returned a `Date`. */
  readonly #dates: string[] = []
  #owner = ''
  #isTask = false
  #hasReturned = false
  #timer: ReturnType<typeof setTimeout> | null = null

  constructor(declarations: Declarations, env: object, hasStore: boolean) {
    this.#declarations = declarations
    this.#env = env
    this.#hasStore = hasStore
  }

  watchedContext(context: Context): Context {
    const noted = async <T>(key: string, effect: () => T | Promise<T>) => {
      const value = await effect()
      if (value instanceof Date) this.#dates.push(key)
      return value
    }
    // What is no function is refused.
    const once: Context['once'] = (key, effect) =>
      context.once(key, typeof effect === 'function' ? () => noted(key, effect) : effect)
    const sleep: Context['sleep'] = (key, duration) => {
      this.#checkSleep(duration)
      return context.sleep(key, duration)
    }
    const log: Context['log'] = (...message) => {
      if (this.#hasReturned) this.#warnOfLateLog()
      context.log(...message)
    }
    return replacing(context, { once, sleep, log })
  }

  instrumented({ context, run, end }: Instrumented): Instrumented {
    return {
      context,
      run: async (kind, item, handler) => {
        const name = 'uriTemplate' in item ? item.uriTemplate : 'uri' in item ? item.uri : item.name
        this.#owner = `${kind} "${name}"`
        this.#isTask = kind === 'tool' && !!this.#declarations.tools.get(name)?.task
        this.#timer = this.#isTask ? null : setTimeout(() => this.#warnOfSlowness(), slowAfterMs)
        try {
          const value = await run(kind, item, handler)
          // The store leaves structured content that clients validate.
          if (kind === 'tool' && (!this.#hasStore || 'outputSchema' in item)) this.#checkSize(value)
          return value
        } catch (thrown) {
          this.#explain(thrown, kind === 'tool')
          throw thrown
        } finally {
          this.#hasReturned = true
          this.#stop()
        }
      },
      end: () => {
        this.#stop()
        end()
      },
    }
  }

  #stop(): void {
    clearTimeout(this.#timer)
    this.#missing.end()
  }

  #warnOfSlowness(): void {
    warnOnce(
      `The ${this.#owner} has been running for ${slowAfterMs / 1000} seconds: check that each promise it awaits settles. ` +
        'rateLimit({ time }) of "edgemcp/rate-limit" ends handlers after a time; a tool that takes long is a task, of "edgemcp/tasks"',
    )
  }

  #warnOfLateLog(): void {
    warnOnce(
      `The ${this.#owner} called ctx.log after it had returned, so no client receives the message: await the work before you return, or call server.notify.log()`,
    )
  }

  #checkSleep(duration: Parameters<Context['sleep']>[1]): void {
    clearTimeout(this.#timer)
    let sleepMs = 0
    try {
      sleepMs = milliseconds(duration, '')
    } catch {
      // `ctx.sleep` says what is wrong.
    }
    if (this.#isTask || sleepMs <= maxSleepMs) return
    warnOnce(
      `The ${this.#owner} sleeps for ${sleepMs / 1000} seconds and is not a task, so its client waits on an open request: ` +
        'declare the tool with task: true, and add tasks() of "edgemcp/tasks" to the plugins of serve()',
    )
  }

  #checkSize(value: unknown): void {
    const characters = lengthOf(value)
    if (characters <= maxCharacters) return
    warnOnce(
      `The ${this.#owner} returned ${characters} characters, which is more than models and most clients take: ` +
        'return a part at a time, or a resourceLink() to a resource',
    )
  }

  #explain(thrown: unknown, isTool: boolean): void {
    if (!(thrown instanceof Error)) {
      const reason = isTool ? '"The tool failed"' : '"Internal error"'
      const text = typeof thrown === 'string' ? JSON.stringify(thrown.slice(0, 100)) : String(thrown)
      return warnOnce(
        `The ${this.#owner} threw ${text}, which is not an Error, so clients get ${reason} without a reason: throw new Error('…')`,
      )
    }
    if (thrown instanceof McpError) return
    const { message } = thrown
    if (message.includes('undefined') && this.#missing.names.size > 0) this.#explainMissing(message)
    const [key] = this.#dates
    if (key !== undefined && message.includes('is not a function')) {
      warnOnce(
        `The ${this.#owner} failed after a Date of ctx.once("${key}", …), which each round gets as a text: ` +
          `write new Date(await ctx.once("${key}", …))`,
      )
    }
    const secret = isTool ? this.#secretIn(message) : undefined
    if (secret !== undefined) {
      warnOnce(
        `The ${this.#owner} threw an error whose message has ${secret}, and clients and models get the message: ` +
          "catch it, and throw new Error('…', { cause }) with a message of your own",
      )
    }
  }

  #explainMissing(message: string): void {
    const { names } = this.#missing
    const list = [...names].map((name) => `env.${name}`).join(' and ')
    const [are, them] = names.size === 1 ? ['is', 'it'] : ['are', 'them']
    warnOnce(
      `The ${this.#owner} failed after it read ${list}, which ${are} undefined: declare ${them} ${whereToDeclare(names, message)}`,
    )
  }

  /** What in a message looks like a secret, in words. */
  #secretIn(message: string): string | undefined {
    const found = Object.entries(this.#env).find(
      ([name, value]) =>
        secretNames.test(name) &&
        typeof value === 'string' &&
        value.length >= minSecretCharacters &&
        message.includes(value),
    )
    if (found) return `the value of env.${found[0]}`
    return /:\/\/[^\s/:@]*:[^\s/@]+@/.test(message) ? 'a URL with a password' : undefined
  }
}

/** Characters of a text, or of the JSON of a value. What has no JSON is refused later. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  try {
    return JSON.stringify(value)?.length ?? 0
  } catch {
    return 0
  }
}
