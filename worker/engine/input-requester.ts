/** The members of `ctx` that request input: each opens an input request, or returns the response in the journal. */
import { preview } from '../declarations/check-options.ts'
import type {
  AskOptions,
  FormResult,
  SamplingRequest,
  UrlElicitationOptions,
  UrlElicitationResult,
} from '../declarations/context.ts'
import type { Declarations } from '../declarations/declarations.ts'
import { readForm } from '../declarations/form.ts'
import { readOptional } from '../declarations/optional-members.ts'
import type { Schema } from '../declarations/schema.ts'
import { McpError } from '../protocol/errors.ts'
import { jsonText } from '../protocol/json-text.ts'
import type { InputRequest, Params } from '../protocol/types.ts'
import type { Call, CallEnvironment } from './call.ts'
import { checkElicit, checkElicitUrl, checkInputRequests, checkSample } from './check-arguments.ts'
import { checkAskOptions, checkRequestOptions, checkUrlOptions } from './check-context-options.ts'
import { checkKey } from './check-key.ts'
import { InvalidInputResponse } from './invalid-input-response.ts'
import { readFormResult, readRootsResult, readSamplingResult, readUrlResult } from './read-input-response.ts'
import { pageUrl, problemOf, rootsRequest, samplingParams, taskIn } from './request-input.ts'
import type { Round } from './round.ts'
import { ofSampling } from './sampling-members.ts'

export class InputRequester {
  readonly #call: Call
  readonly #round: Round
  readonly #environment: CallEnvironment
  readonly #declarations: Declarations
  /** The ids of URL elicitations that the handler chose, by key. */
  readonly #elicitationIds: Record<string, string | undefined> = {}

  constructor(call: Call, round: Round, environment: CallEnvironment, declarations: Declarations) {
    this.#call = call
    this.#round = round
    this.#environment = environment
    this.#declarations = declarations
  }

  async elicit<T>(key: string, message: string, schema: Schema, options: AskOptions = {}): Promise<FormResult<T>> {
    this.#check(() => {
      checkKey('elicit', key)
      const owner = `ctx.elicit(${preview(key)}, …)`
      if (globalThis.process?.env?.NODE_ENV !== 'production') checkElicit(owner, message, schema)
      checkAskOptions(owner, options)
    })
    const form = readForm(schema, `input request "${key}"`, this.#declarations.options.jsonSchema)
    const params: Params = { mode: 'form', message, requestedSchema: form.jsonSchema, ...taskIn(options) }
    // `content` has passed the check of the schema, whose type is T.
    const read = (result: unknown) => readFormResult(key, form, result) as Promise<FormResult<T> | undefined>
    return this.#request(key, { method: 'elicitation/create', params }, read, options)
  }

  async elicitUrl(
    key: string,
    message: string,
    url: string | URL,
    options: UrlElicitationOptions = {},
  ): Promise<UrlElicitationResult> {
    this.#check(() => {
      checkKey('elicitUrl', key)
      const owner = `ctx.elicitUrl(${preview(key)}, …)`
      if (globalThis.process?.env?.NODE_ENV !== 'production') checkElicitUrl(owner, message, url)
      checkUrlOptions(owner, options)
    })
    const { elicitationId } = options
    this.#elicitationIds[key] = elicitationId
    const params: Params = { mode: 'url', message, url: pageUrl(key, url), ...(elicitationId && { elicitationId }) }
    Object.assign(params, taskIn(options))
    const request: InputRequest = { method: 'elicitation/create', params }
    if (!options.required || this.#call.revision.stateless) return this.#request(key, request, readUrlResult, options)
    this.#checkRequest(key, request)
    const { seals } = this.#environment
    const elicitation = { elicitationId: await seals.createId('elicitation', Number.POSITIVE_INFINITY), ...params }
    throw new McpError('url_elicitation_required', message, { elicitations: [elicitation] })
  }

  async sample(key: string, request: SamplingRequest, options: AskOptions = {}) {
    const checked = this.#check(() => {
      checkKey('sample', key)
      const owner = `ctx.sample("${key}", …)`
      if (globalThis.process?.env?.NODE_ENV !== 'production') checkSample(owner, request)
      checkAskOptions(owner, options)
      return readOptional(request, ofSampling, owner, '', TypeError)
    })
    const params = { ...samplingParams(checked), ...taskIn(options) }
    return this.#request(key, { method: 'sampling/createMessage', params }, readSamplingResult, options)
  }

  async roots(key: string) {
    this.#check(() => checkKey('roots', key))
    return this.#request(key, rootsRequest, readRootsResult)
  }

  /** Opens input requests, and ignores responses that the journal contains. */
  async open(requests: Readonly<Record<string, InputRequest>>, options: AskOptions = {}): Promise<never> {
    this.#check(() => {
      if (globalThis.process?.env?.NODE_ENV !== 'production') checkInputRequests(requests)
      checkRequestOptions(options)
    })
    const entries = Object.entries(requests)
    // Nothing would end the round.
    if (entries.length === 0) {
      throw this.#round.refuse(new Error('ctx.requestInput got no input requests: give it at least one'))
    }
    for (const [key, request] of entries) {
      this.#round.reserveKey(key, 'question')
      this.#checkRequest(key, request)
    }
    return Promise.race(entries.map(([key, request]) => this.#round.reopen(key, request, options)))
  }

  /** Returns the id that the handler chose for a URL elicitation. */
  elicitationId(key: string): string | undefined {
    return this.#elicitationIds[key]
  }

  /**
   * Sends an input request, or returns the response in the journal.
   *
   * @param read returns `undefined` for a result of another shape.
   *
   * @throws InvalidInputResponse with the reason, if it is known
   */
  async #request<T>(
    key: string,
    request: InputRequest,
    read: (result: unknown) => T | undefined | Promise<T | undefined>,
    options?: AskOptions,
  ): Promise<T> {
    const round = this.#round
    round.reserveKey(key, 'question')
    this.#checkRequest(key, request)
    if (!round.identify(key, request)) return round.fail(changedRequest(key))
    const result = round.responseTo(key, this.#environment.known?.(request))
    if (result === undefined) return round.open(key, request, options)
    try {
      const value = await read(result)
      if (value !== undefined) return value
    } catch (thrown) {
      if (thrown instanceof InvalidInputResponse) return round.fail(thrown)
      throw thrown
    }
    const problem = `The answer to "${key}" is not a valid ${request.method} result`
    return round.fail(new InvalidInputResponse(key, problem))
  }

  /** Checks arguments. @throws Error that ends the handler unless it is caught: see `Round.refuse` */
  #check<T>(check: () => T): T {
    try {
      return check()
    } catch (thrown) {
      throw this.#round.refuse(thrown)
    }
  }

  /** @throws Error when the client cannot be sent this request */
  #checkRequest(key: string, request: InputRequest): void {
    this.#check(() => jsonText(request.params, `"params" of the input request "${key}" has`))
    const problem = problemOf(this.#call, key, request, this.#environment.canFollowTasks)
    if (problem) throw this.#round.refuse(problem)
  }
}

/** The journal contains a response to another request under this key. */
const changedRequest = (key: string) =>
  new McpError(
    'internal_error',
    `The input request "${key}" changed after its answer: build it from arguments, answers and ctx.once only`,
  )
