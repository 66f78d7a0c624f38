/** The context of one call in one round: what it learned before, what it asks now. */

import { checks } from '../declarations/checking.ts'
import type {
  AskOptions,
  ClientFeature,
  Context,
  FormResult,
  InputResponse,
  Jsonify,
  SamplingRequest,
} from '../declarations/context.ts'
import { milliseconds } from '../declarations/duration.ts'
import { readForm } from '../declarations/form.ts'
import { issuesText, type JsonSchemaReader } from '../declarations/schema.ts'
import type { HandleState, KeyedState, StateRpc } from '../declarations/state.ts'
import { canonicalJson } from '../protocol/canonical-json.ts'
import { ClientError, McpError } from '../protocol/errors.ts'
import { jsonText } from '../protocol/json-text.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import { isLoopback } from '../protocol/loopback.ts'
import { progressToken } from '../protocol/meta.ts'
import { sha256 } from '../protocol/sha256.ts'
import type { InputRequest, Params } from '../protocol/types.ts'
import { logLevels } from '../protocol/types.ts'
import { readRoots, readSampled, readVisited } from './answers.ts'
import type { Call, CallEnvironment, Outcome } from './call.ts'
import { can, featuresOf, requirementOf } from './features.ts'
import { InvalidInputResponse } from './invalid-input-response.ts'
import { type Answer, type Journal, longestWait } from './journal.ts'
import { observe, Question, Unawaited } from './question.ts'
import { toolImbalance } from './tool-balance.ts'

/** A round: a context for the handler, and what happens if the handler cannot go on without the client. */
export type Round = {
  readonly context: Context
  /** Settles when questions are open and nothing else is running, or when an answer is not one. */
  readonly blocked: Promise<Outcome>
  /** Hands the handler's result on. @throws McpError when the handler did not await a question: its result counts for nothing */
  settle<R>(result: R): R | Promise<R>
  /** Nothing is said for this call any more. */
  close(): void
}

/** @param reader of plain JSON Schemas, if the server has one */
export function openRound(
  call: Call,
  journal: Journal,
  environment: CallEnvironment,
  reader?: JsonSchemaReader,
): Round {
  const { promise: blocked, resolve: block, reject: fail } = Promise.withResolvers<Outcome>()
  // Only a race listens, and it may be over.
  blocked.catch(() => {})
  const inputRequests = new Map<string, InputRequest>()
  const fingerprints = new Map(Object.entries(journal.requestFingerprints))
  /** Answers that were given to what was asked, in this round or an earlier one. */
  const answers = new Map(Object.entries(journal.answers).filter(([key]) => fingerprints.has(key)))
  const effects = new Map(Object.entries(journal.effects))
  const usedKeys = new Set<string>()
  /** Keys of answers that somebody wanted to hear. */
  const consumedKeys = new Set<string>()
  const runningEffects = new Set<Promise<unknown>>()
  const unawaited = new Unawaited()
  /** Set once a question was not awaited. From then on the handler may do nothing through its context. */
  let unawaitedError: McpError | undefined
  let answerTimeoutMs = longestWait
  let isClosed = false
  let isRefused = false
  /** The key of the effect that is being started. */
  let startingEffect: string | undefined
  let notificationCount = 0
  let lastProgress = Number.NEGATIVE_INFINITY

  /** A replayed stretch of the handler says nothing twice. Counts what would be said. */
  function isReplay(): boolean {
    if (isClosed) return true
    notificationCount += 1
    return notificationCount <= journal.notificationsSent
  }

  async function closeRound(): Promise<void> {
    // Effects that run beside a question are part of this round: their results must travel with it.
    while (runningEffects.size > 0) await Promise.allSettled(runningEffects)
    // What cannot be asked may be the end of the handler: nobody is asked anything before that is known.
    // Neither before it is known whether the handler waits for the answer.
    for (let index = 0; (isRefused || unawaited.names().length > 0) && index < 50; index++) await undefined
    if (isClosed) return
    isClosed = true
    const unused = [...answers.keys()].filter((key) => !consumedKeys.has(key))
    const strays = answers.size > 0 && unused.length === answers.size ? journal.unusedRounds + 1 : 0
    const rounds = journal.rounds + 1
    if (strays === maxUnusedRounds || rounds > maxRounds)
      return void failCall(roundLimitError(unused, [...inputRequests.keys()]))
    block({
      type: 'input_required',
      inputRequests: Object.fromEntries(inputRequests),
      journal: {
        answers: Object.fromEntries(answers),
        effects: Object.fromEntries(effects),
        notificationsSent: Math.max(notificationCount, journal.notificationsSent),
        requestFingerprints: Object.fromEntries(fingerprints),
        rounds,
        unusedRounds: strays,
      },
      answerTimeoutMs,
    })
  }

  /** The handler cannot go on, by its own fault. It must not take that for an answer, so it hears nothing of it. */
  function failCall(error: McpError): Promise<never> {
    environment.report(error)
    fail(error)
    return new Promise<never>(() => {})
  }

  /**
   * Does something for the handler. If it has asked a question that nothing waits for yet, this first makes sure that something
   * does: what comes after a question must not happen before the answer.
   */
  function afterQuestions<T>(work: () => Promise<T>): Promise<T> {
    if (unawaitedError) return Promise.reject(unawaitedError)
    if (unawaited.names().length === 0) return work()
    const started = awaited().then(() => {
      const result = work()
      result.catch(() => {})
      // Not the promise itself, which may stay open.
      return { result }
    })
    runningEffects.add(started)
    const isOver = () => void runningEffects.delete(started)
    started.then(isOver, isOver)
    return started.then(({ result }) => result)
  }

  /** @throws McpError when a question that was asked before is not awaited */
  async function awaited(): Promise<void> {
    const name = await unawaited.forgotten()
    if (name !== undefined) throw notAwaited(name)
  }

  function notAwaited(name: string): McpError {
    if (unawaitedError) return unawaitedError
    const message = `The handler asks ${name} and goes on without the answer: write await ${name}, or await Promise.all([…]) for several questions`
    unawaitedError = new McpError('internal_error', message)
    isClosed = true
    environment.report(unawaitedError)
    fail(unawaitedError)
    return unawaitedError
  }

  /** Like `afterQuestions`, for what cannot wait: it happens now, and the call ends if a question is not awaited. */
  function checkQuestions(): void {
    if (unawaited.names().length > 0) afterQuestions(async () => {}).catch(() => {})
  }

  /** @param name what the handler calls, for the error if it does not await it */
  function question<T>(name: string, work: () => Promise<T>): Promise<T> {
    const promise = new Question<T>((resolve) => resolve(afterQuestions(work)))
    unawaited.add(name, promise)
    // One that is not awaited is reported as that, whatever becomes of it.
    observe(promise, ignore, ignore)
    return promise
  }

  function usageError(message: string): Error {
    isRefused = true
    return new Error(message)
  }

  function reserveKey(key: string, kind: string): void {
    const isInside = startingEffect !== undefined && kind === 'question'
    if (isInside || usedKeys.has(key))
      throw usageError(checks?.misusedKey(key, kind, isInside) ?? `Misused key "${key}"`)
    usedKeys.add(key)
  }

  async function requestInput<T>(
    key: string,
    request: InputRequest,
    read: (result: unknown) => T | undefined | Promise<T | undefined>,
    options?: AskOptions,
  ): Promise<T> {
    reserveKey(key, 'question')
    checkRequest(key, request)
    const requestFingerprint = fingerprint(request)
    if (Object.hasOwn(journal.answers, key) && (fingerprints.get(key) ?? requestFingerprint) !== requestFingerprint)
      return failCall(changed(key))
    fingerprints.set(key, requestFingerprint)
    const result = answerTo(key, environment.known?.(request))
    if (result === undefined) return openRequest(key, request, options)
    const value = await read(result)
    if (value !== undefined) return value
    fail(new InvalidInputResponse(key, `The answer to "${key}" is not a valid ${request.method} result`))
    return new Promise<never>(() => {})
  }

  /** @throws McpError when this client cannot be asked; Error when nobody can be asked this */
  function checkRequest(key: string, request: InputRequest): void {
    const missing = featuresOf(request).find((feature) => !can(call.capabilities, feature))
    if (!missing && call.revision.ask(request)) return checkBalance(key, request)
    isRefused = true
    if (missing) throw cannotAsk(missing)
    const reason = `Revision ${call.revision.date} has no words for the question "${key}"`
    throw new McpError('missing_client_capability', reason)
  }

  function checkBalance(key: string, { method, params }: InputRequest): void {
    const imbalance = method === 'sampling/createMessage' ? toolImbalance(params) : undefined
    if (imbalance) throw usageError(`The messages of the question "${key}" are not balanced: ${imbalance}`)
  }

  /** @throws McpError when the client would not answer */
  function answerTo(key: string, knownAnswer?: Answer): unknown {
    const answer = Object.hasOwn(journal.answers, key) ? journal.answers[key] : knownAnswer
    if (!answer) return undefined
    consumedKeys.add(key)
    answers.set(key, answer)
    if ('error' in answer) throw new ClientError(key, answer.error)
    return answer.result
  }

  /** An open question never settles, so no catch in the handler can mistake it for a failure. */
  function openRequest(
    key: string,
    request: InputRequest,
    { timeout = answerTimeoutMs }: AskOptions = {},
  ): Promise<never> {
    // Questions asked in the same breath travel together.
    if (inputRequests.size === 0) queueMicrotask(closeRound)
    inputRequests.set(key, request)
    answerTimeoutMs = Math.min(answerTimeoutMs, timeout)
    return new Promise<never>(() => {})
  }

  const access = () => ({ ...environment.state, ...environment.seals, principal: call.principal, object: stateObject })

  /** Operations on states are effects as well. */
  function stateObject(name: string): StateRpc {
    const object = environment.state.object(name)
    if (!unawaitedError && unawaited.names().length === 0) return object
    return {
      run: (operation) => afterQuestions(() => object.run(operation)),
      forget: (expires) => afterQuestions(() => object.forget(expires)),
    }
  }

  function once<T>(key: string, effect: () => T | Promise<T>): Promise<Jsonify<T>> {
    return afterQuestions(async () => {
      checks?.checkOnce(key, effect)
      reserveKey(key, 'once')
      const done = effects.get(key)
      if (done) return done.value as never
      // The round is over and nobody would remember the result: the next round runs the effect.
      if (isClosed) return new Promise<never>(() => {})
      // Started in a microtask, so that a throw is a rejection; later rounds get JSON, so this one does too.
      const work = Promise.resolve()
        .then(() => {
          startingEffect = key
          try {
            return effect()
          } finally {
            startingEffect = undefined
          }
        })
        .then((value) => {
          const json = jsonText(value, `ctx.once("${key}", …) got`)
          return json === undefined ? undefined : JSON.parse(json)
        })
      runningEffects.add(work)
      try {
        const value = await work
        effects.set(key, { value })
        environment.effect?.(key, value)
        return value
      } finally {
        runningEffects.delete(work)
      }
    })
  }

  /** @param momentOf throws for what is no moment */
  async function sleepUntil(key: string, momentOf: () => number): Promise<void> {
    if (typeof key !== 'string' || key === '') {
      throw usageError(`The key of a sleep is ${JSON.stringify(key)}: use a text, as in ctx.sleep('wait', '1h')`)
    }
    if (startingEffect !== undefined) {
      throw usageError(`The sleep "${key}" is inside once "${startingEffect}": sleep before or after it`)
    }
    const effectKey = `\0sleep ${key}`
    if (usedKeys.has(effectKey)) {
      throw usageError(`The sleep key "${key}" is used twice in one call: give each its own`)
    }
    const moment = momentOf()
    if (Number.isNaN(moment)) {
      throw usageError(`The moment of the sleep "${key}" is none: use a Date, or its milliseconds`)
    }
    // A handler that runs again sleeps until the moment that is stored under the key.
    const untilMs = (await once(effectKey, () => moment)) as number
    if (untilMs > environment.now()) await environment.sleep(untilMs)
  }

  const context: Context = Object.assign(new Signalled(environment), {
    principal: call.principal,
    session: call.session,
    client: call.client,
    requestId: call.requestId,
    meta: isObject(call.params._meta) ? call.params._meta : {},
    supports: (feature) => can(call.capabilities, feature),

    elicit: (key, message, schema, options) =>
      question(`ctx.elicit("${key}", …)`, async () => {
        checks?.checkElicit(key, message, schema)
        const form = readForm(schema, `question "${key}"`, reader)
        const params: Params = { mode: 'form', message, requestedSchema: form.jsonSchema }
        const read = async (result: unknown): Promise<FormResult<never> | undefined> => {
          if (!isObject(result)) return undefined
          if (result.action === 'decline' || result.action === 'cancel') return { action: result.action }
          if (result.action !== 'accept') return undefined
          const checked = await form.check(result.content ?? {})
          if ('value' in checked) return { action: 'accept', content: checked.value } as FormResult<never>
          fail(
            new InvalidInputResponse(
              key,
              `The answer to "${key}" does not fit its schema: ${issuesText(checked.issues)}`,
            ),
          )
          return undefined
        }
        return requestInput(key, { method: 'elicitation/create', params }, read, options)
      }),

    elicitUrl: (key, message, url, options) =>
      question(`ctx.elicitUrl("${key}", …)`, async () => {
        checks?.checkElicitUrl(key, message)
        const href = pageUrl(key, url)
        const params: Params = { mode: 'url', message, url: href }
        const request: InputRequest = { method: 'elicitation/create', params }
        if (!options?.required || call.revision.stateless) return requestInput(key, request, readVisited, options)
        checkRequest(key, request)
        const elicitation = { ...params, elicitationId: await environment.seals.seal('elicitation', key) }
        throw new McpError('url_elicitation_required', message, { elicitations: [elicitation] })
      }),

    elicitationComplete(key) {
      checkQuestions()
      if (!isReplay()) environment.completed(key, notificationCount)
    },

    sample: (key, request, options) =>
      question(`ctx.sample("${key}", …)`, async () => {
        checks?.checkSample(key, request)
        const params = samplingParams(request)
        return requestInput(key, { method: 'sampling/createMessage', params }, readSampled, options)
      }),

    roots: (key = 'roots') =>
      question('ctx.roots()', async () => {
        checks?.checkRoots(key)
        return requestInput(key, rootsRequest, readRoots)
      }),

    inputResponse(key) {
      checkQuestions()
      return answerTo(key) as InputResponse | undefined
    },

    requestInput: (requests, options) =>
      question(`ctx.requestInput({ ${Object.keys(requests ?? {}).join(', ')} })`, async () => {
        checks?.checkAsk(requests)
        const asking = Object.entries(requests)
        if (asking.length === 0) throw new Error(checks?.nothingAsked ?? 'There is nothing to ask')
        for (const [key, request] of asking) {
          reserveKey(key, 'question')
          checkRequest(key, request)
        }
        for (const [key, request] of asking) {
          // Asked again, it is to be answered again.
          answers.delete(key)
          fingerprints.set(key, fingerprint(request))
          openRequest(key, request, options)
        }
        return new Promise<never>(() => {})
      }),

    once,

    sleep: (key, duration) =>
      sleepUntil(key, () => environment.now() + milliseconds(duration, `The duration of the sleep "${key}"`)),
    sleepUntil: (key, moment) => sleepUntil(key, () => Number(moment)),

    progress(progress, total, message) {
      checkQuestions()
      const token = progressToken(call.params)
      if (token === undefined || !(progress > lastProgress)) return
      lastProgress = progress
      if (isReplay()) return
      const params = { progressToken: token, progress, total, message }
      environment.notify({ method: 'notifications/progress', params }, notificationCount)
    },

    log(level, data, logger) {
      checkQuestions()
      // Counted whether it is wanted or not: the level may be another one in the next round.
      if (isReplay() || call.logLevel === undefined) return
      if (logLevels.indexOf(level) < logLevels.indexOf(call.logLevel)) return
      environment.notify(
        { method: 'notifications/message', params: { level, logger, data: data ?? null } },
        notificationCount,
      )
    },

    // Typed by what declares it.
    state: <T>(of: KeyedState<T> | HandleState<T>, handle = '') => of.open(access(), handle),

    createHandle: (of) => afterQuestions(() => of.mint(access())),

    disconnect(retry) {
      checkQuestions()
      if (!isReplay()) environment.disconnect(retry)
    },
  } satisfies Omit<Context, 'signal'>) as unknown as Context

  return {
    context,
    blocked,
    settle(result) {
      if (unawaitedError) return Promise.reject(unawaitedError)
      return unawaited.names().length === 0 ? result : awaited().then(() => result)
    },
    close() {
      isClosed = true
    },
  }
}

const ignore = () => {}

/** Not a private field: a context behind a proxy has its signal too. */
const environmentKey = Symbol('environment')

/** A getter in a literal would give each context a shape of its own, which lives until the heap is collected as a whole. */
class Signalled {
  readonly [environmentKey]: CallEnvironment

  constructor(environment: CallEnvironment) {
    this[environmentKey] = environment
  }

  get signal(): AbortSignal {
    return this[environmentKey].signal()
  }
}

/** @throws Error for a page that a client must not open: what is not https, or carries credentials */
function pageUrl(key: string, text: string | URL): string {
  const url = URL.parse(String(text))
  const isWeb = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  if (url && isWeb && !url.username && !url.password) return url.href
  // Neither the path nor the credentials: this may be shown to the model.
  const label = url ? `${url.protocol}${url.host && `//${url.host}`}` : 'a text that is no URL'
  throw new Error(
    `Cannot send a person to ${label} with ctx.elicitUrl("${key}", …): use an https URL (or http on localhost) without a user name and a password`,
  )
}

/** Rounds of questions that one call may take. */
const maxRounds = 100
/** Rounds, one after another, in which nothing that was answered is asked again. One may be chance: branches race. */
const maxUnusedRounds = 2

/** What `ctx.roots` asks. */
export const rootsRequest: InputRequest = { method: 'roots/list', params: {} }

/** Names a question in a journal. */
export const fingerprint = (request: InputRequest): string => sha256(canonicalJson(request))

/** The answer is to something else than is asked now: nobody may take it for an answer to this. */
const changed = (key: string) =>
  new McpError('internal_error', checks?.changedQuestion(key) ?? `The question "${key}" has changed`)

const roundLimitError = (unused: readonly string[], openKeys: readonly string[]) =>
  new McpError(
    'internal_error',
    checks?.endlessQuestions(unused, openKeys, maxRounds) ?? 'There is no end of questions',
  )

const cannotAsk = (feature: ClientFeature) =>
  new McpError('missing_client_capability', `This needs a client that supports ${feature}`, {
    requiredCapabilities: requirementOf(feature),
  })

function samplingParams({ prompt, messages, ...rest }: SamplingRequest): Params {
  const history = messages ?? [{ role: 'user', content: { type: 'text', text: prompt } }]
  return { messages: history, ...rest }
}
