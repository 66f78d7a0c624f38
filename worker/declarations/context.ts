/** What a handler may know and ask while it serves one call. */
import type { Principal } from '../protocol/principal.ts'
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitResult,
  Implementation,
  InputRequest,
  LogLevel,
  Meta,
  RequestId,
  Root,
  SamplingMessage,
} from '../protocol/types.ts'
import type { Infer, Schema } from './schema.ts'
import type { HandleState, KeyedState } from './state.ts'

export type Awaitable<T> = T | Promise<T>

/** What a value is after a trip through JSON. `never`: it has no JSON form. */
// biome-ignore lint/suspicious/noConfusingVoidType: an effect without a return statement returns void
export type Jsonify<T> = T extends string | number | boolean | null | undefined | void
  ? T
  : unknown extends T
    ? T
    : T extends { toJSON(): infer J }
      ? Jsonify<J>
      : T extends
            | bigint
            | symbol
            | ((...args: never[]) => unknown)
            | ReadonlyMap<unknown, unknown>
            | ReadonlySet<unknown>
        ? never
        : T extends readonly unknown[]
          ? { [K in keyof T]: undefined extends T[K] ? Exclude<Jsonify<T[K]>, undefined> | null : Jsonify<T[K]> }
          : { [K in keyof T]: Jsonify<T[K]> }

/** What a client may be able to do. */
export type ClientFeature =
  | 'elicitation'
  | 'elicitation.url'
  | 'sampling'
  | 'sampling.tools'
  | 'sampling.context'
  | 'roots'

/** A person's answer to a form. */
export type FormResult<T> =
  | { readonly action: 'accept'; readonly content: T }
  | { readonly action: 'decline' | 'cancel'; readonly content?: undefined }

/** What a person said to being sent to a page: to `accept` is to go there, not to be done there. */
export type UrlElicitationResult = { readonly action: 'accept' | 'decline' | 'cancel' }

/** What to ask the client's model: `prompt` is short for one user message of text. */
export type SamplingRequest = Omit<CreateMessageParams, 'messages'> &
  ({ prompt: string; messages?: undefined } | { messages: SamplingMessage[]; prompt?: undefined })

/** What the client's model answered; `text` is its text blocks put together. */
export type SamplingResult = CreateMessageResult & { readonly text: string }

/** A client's answer to any question, unchecked. */
export type InputResponse = Partial<ElicitResult> & Partial<CreateMessageResult> & { readonly roots?: readonly Root[] }

export type AskOptions = {
  /** Milliseconds until an answer is too late, and the call ends. Default and most: a day. */
  timeout?: number
}

export type UrlElicitationOptions = AskOptions & {
  /**
   * Nothing can be done before the person has been there: a 2025-11-25 client gets the error `-32042`, and makes its request
   * again afterwards, instead of being asked while the call waits. Look into your own state for whether they are done, before
   * you ask.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
   */
  required?: boolean
}

export interface Context {
  /** Aborted when the client cancels the call, or, in stateless revisions, closes its connection. */
  readonly signal: AbortSignal
  /** Who makes this request; `undefined` on a server without auth. */
  readonly principal: Principal | undefined
  /** The session this call belongs to; `undefined` in revisions that have none. */
  readonly session: { readonly id: string } | undefined
  /** What the client calls itself. For display only: anyone may claim anything. */
  readonly client: Implementation | undefined
  /**
   * The id of the JSON-RPC request, as its client chose it: unique among the requests that are open in a session. In stateless
   * revisions each round is a request with an id of its own. `undefined` in a run of a task.
   */
  readonly requestId: RequestId | undefined
  /** The request's `_meta`. */
  readonly meta: Readonly<Meta>

  /** Did the client declare this? Asking for what it did not is refused. */
  supports(feature: ClientFeature): boolean

  /**
   * Asks the person a question and waits for the answer, in every revision that has questions.
   *
   * The handler is run from the top for each answer: code before a question runs once per round, so put effects in
   * `once`. Keys are unique in a handler.
   *
   * @param key names the question within this call
   * @param schema an object of plain fields: text, numbers, booleans, choices
   * @throws McpError `missing_client_capability` when the client cannot be asked
   */
  elicit<const S extends Schema>(
    key: string,
    message: string,
    schema: S,
    options?: AskOptions,
  ): Promise<FormResult<Infer<S>>>

  /**
   * Sends the person to a page, for what must not pass through the client: passwords, payments, other sites' consent. The
   * page must find out by itself who opens it: it may not be whom this call is for.
   *
   * @param url https, without anything personal in it and without a login of its own
   * @throws McpError `missing_client_capability` when the client cannot send anybody anywhere
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode
   */
  elicitUrl(
    key: string,
    message: string,
    url: string | URL,
    options?: UrlElicitationOptions,
  ): Promise<UrlElicitationResult>

  /** Tells the client that a person is done on the page that this question sent them to. Not every revision has a word for it. */
  elicitationComplete(key: string): void

  /**
   * Asks the client's model.
   *
   * @throws McpError `missing_client_capability` when the client cannot be asked; ClientError when it answered with an error
   */
  sample(key: string, request: SamplingRequest, options?: AskOptions): Promise<SamplingResult>

  /**
   * The folders the client works in.
   *
   * @throws McpError `missing_client_capability` when the client cannot be asked; ClientError when it answered with an error
   */
  roots(key?: string): Promise<readonly Root[]>

  /**
   * The raw form: opens questions as they are in the protocol, and ends the round. The handler is run again when the client
   * has answered; it finds what was said with `inputResponse`. A key that is asked again is to be answered again.
   *
   * @param requests by key, at least one
   * @returns never: `return` it, so that the types know too
   * @throws McpError `missing_client_capability` when the client cannot be asked that
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
   */
  requestInput(requests: Readonly<Record<string, InputRequest>>, options?: AskOptions): Promise<never>

  /**
   * What the client answered to a question, as it came and not checked: `undefined` when it has not been answered yet.
   *
   * @throws ClientError when it answered with an error
   */
  inputResponse(key: string): InputResponse | undefined

  /**
   * Runs an effect once in a conversation, however many rounds of questions it takes. Each round gets the same result: what the
   * effect returned, after a trip through JSON. A `Date` becomes its text, as the type says.
   *
   * @throws TypeError for a result that has no JSON form, such as a `Map`; the message names the key
   */
  once<T>(key: string, effect: () => Awaitable<T>): Promise<Jsonify<T>>

  /**
   * State that outlives the call, declared with `edgemcp/state`: of this session, user or tenant, or found by a handle.
   * Each of its operations is a transaction, and happens again in each round: put those that change something in `once`.
   *
   * @throws McpError `internal_error` when this call has no such session, user or tenant; `unknown_handle`, from the
   * operations, for a handle that was not made here for this principal, or has lapsed
   */
  state<T>(of: KeyedState<T>): T
  state<T>(of: HandleState<T>, handle: string): T

  /** A new handle. Nothing is stored until it is used. */
  createHandle(of: HandleState<unknown>): Promise<string>

  /**
   * Waits, however long. A run of a task is not in memory meanwhile; other calls wait in memory, and keep their connection open.
   *
   * A handler that is run again sleeps until the moment that the key stands for, so keys are unique among the sleeps of a handler. Not
   * inside `once`.
   *
   * @param key names the sleep within this call
   * @param duration milliseconds, or a text such as `2s`, `10m`, `1h`, `7d`
   * @example await ctx.sleep('overnight', '8h')
   */
  sleep(key: string, duration: number | string): Promise<void>

  /** Waits like `sleep`, until a moment: a `Date`, or its milliseconds. */
  sleepUntil(key: string, moment: number | { valueOf(): number }): Promise<void>

  /** Tells how far the call is, if the client asked to know. A value that does not increase is not sent. */
  progress(progress: number, total?: number, message?: string): void

  /** Sends a log line to the client, if it asked for lines this severe. No secrets, no personal data. */
  log(level: LogLevel, data: unknown, logger?: string): void

  /**
   * Ends the event stream of this call, and not the call: a client of 2025-11-25 resumes it after `retryMs` milliseconds and gets the rest. Default: when the
   * client chooses. Does nothing for other clients, because they would lose the result.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
   */
  closeStream(options?: { retryMs?: number }): void
}
