/** The `ctx` of a handler in one round of a call. */
import { preview } from '../declarations/check-options.ts'
import type { Context, InputResponse, Jsonify, PluginContext } from '../declarations/context.ts'
import type { Declarations } from '../declarations/declarations.ts'
import { milliseconds } from '../declarations/duration.ts'
import type { HandleState, KeyedState, StateAccess, StateRpc } from '../declarations/state.ts'
import { DeveloperError, messageOf } from '../protocol/errors.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import { includesLevel, progressToken } from '../protocol/meta.ts'
import type { Call, CallEnvironment } from './call.ts'
import { checkFeature, checkProgress, checkState } from './check-arguments.ts'
import { checkCloseStream } from './check-context-options.ts'
import { checkKey } from './check-key.ts'
import { checkLog } from './check-log.ts'
import { supportsFeature } from './client-features.ts'
import { reportInStep } from './failure.ts'
import { InputRequester } from './input-requester.ts'
import { sleepPrefix } from './journal.ts'
import type { Round } from './round.ts'

/** A symbol, not a private field, so that copies and proxies of a context have its signal, too. */
export const environmentKey: unique symbol = Symbol('environment')

/** A symbol for the same reason. */
const reporterKey: unique symbol = Symbol('reporter')

/**
 * Reports what code that a handler called threw, and the handler does not throw: see `reportToolFailure`.
 *
 * @param ctx the context of the handler
 * @param subject names what failed. Default: the tool, the prompt or the resource
 */
export function reportIn(ctx: unknown, thrown: unknown, subject?: string): string | undefined {
  const report: unknown = isObject(ctx) ? Reflect.get(ctx, reporterKey) : undefined
  return typeof report === 'function' ? report(thrown, subject) : undefined
}

/** Returns the object that the calls of a POST share, with the context of a handler: `ctx` itself for a call without a POST. */
export const postOf = (ctx: object): object => Reflect.get(ctx, environmentKey)?.post ?? ctx

/** Creates the `ctx` of a step, with what plugins add. */
export function contextOf(call: Call, round: Round, environment: CallEnvironment, declarations: Declarations): Context {
  // The members that an application declares exist if its plugins add them.
  const ctx = new CallContext(call, round, environment, declarations) as CallContext & PluginContext
  const { context } = declarations
  if (context) for (const [name, member] of Object.entries(context)) Object.assign(ctx, { [name]: member(ctx) })
  return ctx
}

/**
 * Implements `ctx`. Every member is an own property and needs no `this`, because handlers destructure contexts and interceptors spread
 * them.
 *
 * `signal` is a getter of the class: most handlers never read it, and creating one costs as much as a short call.
 */
class CallContext implements Omit<Context, keyof PluginContext> {
  readonly [environmentKey]: CallEnvironment
  readonly principal: Context['principal']
  readonly requestContext: Context['requestContext']
  readonly request: Context['request']
  readonly session: Context['session']
  readonly client: Context['client']
  readonly requestId: Context['requestId']
  readonly meta: Context['meta']
  readonly #call: Call
  readonly #round: Round
  readonly #declarations: Declarations
  #inputRequester: InputRequester | undefined
  #lastProgress = Number.NEGATIVE_INFINITY

  constructor(call: Call, round: Round, environment: CallEnvironment, declarations: Declarations) {
    this[environmentKey] = environment
    this.principal = call.principal
    this.requestContext = call.requestContext
    this.request = call.request
    this.session = call.session
    this.client = call.client
    this.requestId = call.requestId
    this.meta = isObject(call.params._meta) ? call.params._meta : {}
    this.#call = call
    this.#round = round
    this.#declarations = declarations
  }

  get signal(): AbortSignal {
    return this[environmentKey].signal()
  }

  /** Most handlers request no input. */
  get #input(): InputRequester {
    this.#inputRequester ??= new InputRequester(this.#call, this.#round, this[environmentKey], this.#declarations)
    return this.#inputRequester
  }

  readonly [reporterKey] = (thrown: unknown, subject?: string): string | undefined =>
    reportInStep(this.#declarations, this.#call, this[environmentKey], thrown, subject)

  readonly supports: Context['supports'] = (feature) => {
    if (globalThis.process?.env?.NODE_ENV !== 'production') checkFeature(feature)
    return supportsFeature(this.#call.capabilities, feature)
  }

  readonly elicit: Context['elicit'] = (key, message, schema, options) =>
    this.#round.guard.promise(`ctx.elicit(${preview(key)}, …)`, () => this.#input.elicit(key, message, schema, options))

  readonly elicitUrl: Context['elicitUrl'] = (key, message, url, options) =>
    this.#round.guard.promise(`ctx.elicitUrl(${preview(key)}, …)`, () =>
      this.#input.elicitUrl(key, message, url, options),
    )

  /** `signIn()` replaces it. */
  readonly upstream: Context['upstream'] = async (provider) => {
    throw new Error(`ctx.upstream("${provider}") needs signIn() of edgemcp/sign-in as auth of serve()`)
  }

  readonly elicitationComplete: Context['elicitationComplete'] = (key) => {
    this.#round.guard.check()
    checkKey('elicitationComplete', key)
    const count = this.#round.countNotification()
    if (count !== undefined) this[environmentKey].completed(key, count, this.#input.elicitationId(key))
  }

  readonly sample: Context['sample'] = (key, request, options) =>
    this.#round.guard.promise(`ctx.sample(${preview(key)}, …)`, () => this.#input.sample(key, request, options))

  readonly roots: Context['roots'] = (key = 'roots') =>
    this.#round.guard.promise('ctx.roots()', () => this.#input.roots(key))

  readonly requestInput: Context['requestInput'] = (requests, options) =>
    this.#round.guard.promise(`ctx.requestInput({ ${Object.keys(requests ?? {}).join(', ')} })`, () =>
      this.#input.open(requests, options),
    )

  readonly inputResponse: Context['inputResponse'] = (key) => {
    this.#round.guard.check()
    checkKey('inputResponse', key)
    // As the client sent it: the type has optional members only.
    return this.#round.responseTo(key) as InputResponse | undefined
  }

  readonly once: Context['once'] = <T>(key: string, effect: () => T | Promise<T>) =>
    // The result after a trip through JSON, as its type says.
    this.#round.guard.after(() => this.#round.runEffect(key, effect)) as Promise<Jsonify<T>>

  readonly sleep: Context['sleep'] = (key, duration) =>
    this.#sleepUntil(
      key,
      () => this[environmentKey].now() + milliseconds(duration, `The duration of the sleep "${key}"`),
    )

  readonly sleepUntil: Context['sleepUntil'] = (key, moment) =>
    // `null` of a database is no time, although it is the number 0.
    this.#sleepUntil(key, () => (isObject(moment) ? moment.valueOf?.() : moment))

  readonly progress: Context['progress'] = (progress, total, message) => {
    this.#round.guard.check()
    if (globalThis.process?.env?.NODE_ENV !== 'production') checkProgress(progress, total, message)
    const token = progressToken(this.#call.params)
    if (token === undefined || !Number.isFinite(progress) || progress <= this.#lastProgress) return
    this.#lastProgress = progress
    const count = this.#round.countNotification()
    if (count === undefined) return
    const params = { progressToken: token, progress, total: Number.isFinite(total) ? total : undefined, message }
    this[environmentKey].notify({ method: 'notifications/progress', params }, count)
  }

  readonly log: Context['log'] = (level, data, logger) => {
    this.#round.guard.check()
    const json = checkLog('ctx.log()', level, data, logger)
    const { logLevel } = this.#call
    // Counted at every level: the client may set another level before the next round.
    const count = this.#round.countNotification()
    if (count === undefined || logLevel === undefined) return
    if (!includesLevel(logLevel, level)) return
    const params = { level, logger, data: JSON.parse(json) }
    this[environmentKey].notify({ method: 'notifications/message', params }, count)
  }

  readonly state: Context['state'] = <T>(of: KeyedState<T> | HandleState<T>, handle = '') => {
    if (globalThis.process?.env?.NODE_ENV !== 'production') checkState('state', of)
    return of.open(this.#stateAccess(), handle)
  }

  readonly createHandle: Context['createHandle'] = (of) =>
    this.#round.guard.after(async () => {
      if (globalThis.process?.env?.NODE_ENV !== 'production') checkState('createHandle', of)
      return of.mint(this.#stateAccess())
    })

  readonly closeStream: Context['closeStream'] = (options = {}) => {
    this.#round.guard.check()
    checkCloseStream(options)
    if (this.#round.countNotification() !== undefined) this[environmentKey].closeStream(options.retryMs)
  }

  /** @param momentOf returns milliseconds since 1970, or an invalid value. @throws Error for an invalid duration */
  async #sleepUntil(key: string, momentOf: () => unknown): Promise<void> {
    const round = this.#round
    const fail = (problem: string) => round.refuse(new Error(problem))
    if (typeof key !== 'string' || key === '') {
      throw fail(`The key of a sleep is ${preview(key)}: use a string, as in ctx.sleep('wait', '1h')`)
    }
    if (round.startingEffect !== undefined) {
      throw fail(`The sleep "${key}" is inside ctx.once("${round.startingEffect}"): sleep before or after it`)
    }
    const effectKey = sleepPrefix + key
    if (round.isUsed(effectKey)) throw fail(`The sleep key "${key}" is used twice in one call: use each key once`)
    const moment = momentOf()
    if (typeof moment !== 'number' || !Number.isFinite(moment)) {
      throw fail(`The date of the sleep "${key}" is invalid: use a valid Date, or milliseconds since 1970`)
    }
    // A handler that runs again sleeps until the moment that is stored under the key.
    const untilMs = await this.once(effectKey, () => moment)
    if (untilMs > this[environmentKey].now()) await this[environmentKey].sleep(untilMs)
  }

  #stateAccess(): StateAccess {
    const { state, seals } = this[environmentKey]
    return {
      ...state,
      ...seals,
      principal: this.#call.principal,
      object: (name) => this.#stateObject(name),
    }
  }

  /** An operation on a state is an effect too: it waits until the handler awaits its input requests. */
  #stateObject(name: string): StateRpc {
    const { guard } = this.#round
    const object = this.#findState(name)
    if (!guard.error && !guard.hasUnawaited) return object
    return {
      run: (operation) => guard.after(() => object.run(operation)),
      deleteAll: (expires) => guard.after(() => object.deleteAll(expires)),
    }
  }

  /** @throws DeveloperError if the class is missing: the endpoint of the call decides whether its client reads that, not that of the class */
  #findState(name: string): StateRpc {
    try {
      return this[environmentKey].state.object(name)
    } catch (problem) {
      throw new DeveloperError(messageOf(problem))
    }
  }
}
