/** The context of a handler: `ctx`. */
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

/** The type of a value after `JSON.parse(JSON.stringify(value))`. `never`: it has no JSON form. */
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

/** A feature of clients that input requests need. */
export type ClientFeature =
  | 'elicitation'
  | 'elicitation.url'
  | 'sampling'
  | 'sampling.tools'
  | 'sampling.context'
  | 'roots'

/** The user's response to a form. */
export type FormResult<T> =
  | { readonly action: 'accept'; readonly content: T }
  | { readonly action: 'decline' | 'cancel'; readonly content?: undefined }

/** The user's response to a URL elicitation: `accept` is the consent to open the page, not its completion. */
export type UrlElicitationResult = { readonly action: 'accept' | 'decline' | 'cancel' }

/** A sampling request: `prompt` is short for one user message of text. */
export type SamplingRequest = Omit<CreateMessageParams, 'messages'> &
  ({ prompt: string; messages?: undefined } | { messages: SamplingMessage[]; prompt?: undefined })

/** The message of the client's model; `text` is its text blocks, concatenated. */
export type SamplingResult = CreateMessageResult & { readonly text: string }

/** The result of any input response, as the client sent it and not validated. */
export type InputResponse = Partial<ElicitResult> & Partial<CreateMessageResult> & { readonly roots?: readonly Root[] }

export type AskOptions = {
  /** Milliseconds that the client has to respond; then the call ends. Default and maximum: a day. */
  timeout?: number
}

export type UrlElicitationOptions = AskOptions & {
  /**
   * The call cannot go on before the user has completed the page: a 2025-11-25 client gets the error `-32042` and repeats its request
   * afterwards, instead of an elicitation while the call waits. Check in your own state whether the user has completed it before you call
   * `elicitUrl`. Default: `false`.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
   */
  required?: boolean
}

export interface Context {
  /** Aborted when the client cancels the call, or, in stateless revisions, closes its connection. */
  readonly signal: AbortSignal
  /** The authenticated caller; `undefined` on a server without `auth`. */
  readonly principal: Principal | undefined
  /** The session of the call; `undefined` in protocol versions without sessions. */
  readonly session: { readonly id: string } | undefined
  /** The name and version that the client gives itself. For display only: they are not authenticated. */
  readonly client: Implementation | undefined
  /**
   * The id of the JSON-RPC request, as its client chose it: unique among the requests that are open in a session. In stateless
   * revisions each round is a request with an id of its own. `undefined` in a run of a task.
   */
  readonly requestId: RequestId | undefined
  /** The request's `_meta`. */
  readonly meta: Readonly<Meta>

  /** Whether the client declared the feature. An input request for another one throws. */
  supports(feature: ClientFeature): boolean

  /**
   * Asks the user to fill in a form and waits for the response, in every protocol version that has elicitation.
   *
   * The handler runs again from its start for each response: code before it runs once per round, so put side effects into `once`. Keys are
   * unique in a handler.
   *
   * @param key identifies the input request in this call
   * @param schema an object of plain fields: text, numbers, booleans, choices
   * @throws McpError `missing_client_capability` when the client does not support it
   */
  elicit<const S extends Schema>(
    key: string,
    message: string,
    schema: S,
    options?: AskOptions,
  ): Promise<FormResult<Infer<S>>>

  /**
   * Asks the user to open a page, for what must not pass through the client: passwords, payments, consent of other sites. The page must
   * authenticate the user by itself: it may be another user than that of this call.
   *
   * @param url https, without anything personal in it and without a login of its own
   * @throws McpError `missing_client_capability` when the client does not support it
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode
   */
  elicitUrl(
    key: string,
    message: string,
    url: string | URL,
    options?: UrlElicitationOptions,
  ): Promise<UrlElicitationResult>

  /** Notifies the client that the user has completed the page of a URL elicitation. Not every protocol version has this notification. */
  elicitationComplete(key: string): void

  /**
   * Requests a message of the client's model.
   *
   * @throws McpError `missing_client_capability` when the client does not support it; ClientError when it responds with an error
   */
  sample(key: string, request: SamplingRequest, options?: AskOptions): Promise<SamplingResult>

  /**
   * Requests the roots of the client: the folders that it works in.
   *
   * @throws McpError `missing_client_capability` when the client does not support it; ClientError when it responds with an error
   */
  roots(key?: string): Promise<readonly Root[]>

  /**
   * Sends input requests as they are in the protocol, and ends the round. The handler runs again with the responses, which `inputResponse`
   * returns. A key that is requested again needs another response.
   *
   * @param requests by key, at least one
   * @returns never: `return` it, so that the types know too
   * @throws McpError `missing_client_capability` when the client does not support one of them
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
   */
  requestInput(requests: Readonly<Record<string, InputRequest>>, options?: AskOptions): Promise<never>

  /**
   * Returns the result of an input response, as the client sent it and not validated: `undefined` when there is none yet.
   *
   * @throws ClientError when the client responded with an error
   */
  inputResponse(key: string): InputResponse | undefined

  /**
   * Runs a side effect once in a call, in whichever round. Each round gets the same result: what the effect returned, after
   * `JSON.parse(JSON.stringify(value))`. A `Date` becomes a string, as the type says.
   *
   * @throws TypeError for a result that has no JSON form, such as a `Map`; the message names the key
   */
  once<T>(key: string, effect: () => Awaitable<T>): Promise<Jsonify<T>>

  /**
   * Opens state that outlives the call, declared with `edgemcp/state`: of this session, user or tenant, or found by a handle. Each of its
   * operations is a transaction, and runs again in each round: put those that write into `once`.
   *
   * @throws McpError `internal_error` when this call has no such session, user or tenant; `invalid_handle`, from the
   * operations, for a handle that was not made here for this principal, or has lapsed
   */
  state<T>(of: KeyedState<T>): T
  state<T>(of: HandleState<T>, handle: string): T

  /** Creates a handle. Nothing is stored until it is used. */
  createHandle(of: HandleState<unknown>): Promise<string>

  /**
   * Waits for any time. A task is not in memory meanwhile; other calls wait in memory, and keep their connection open.
   *
   * A handler that runs again sleeps until the moment that is stored under the key, so keys are unique among the sleeps of a handler. Not
   * inside `once`.
   *
   * @param key identifies the sleep in this call
   * @param duration milliseconds, or a text such as `2s`, `10m`, `1h`, `7d`
   * @example await ctx.sleep('overnight', '8h')
   */
  sleep(key: string, duration: number | string): Promise<void>

  /** Waits like `sleep`, until a moment: a `Date`, or milliseconds since 1970. */
  sleepUntil(key: string, moment: number | { valueOf(): number }): Promise<void>

  /** Sends a progress notification, if the client sent a progress token. A value that does not increase is not sent. */
  progress(progress: number, total?: number, message?: string): void

  /** Sends a log message to the client, if its log level allows it. No secrets, no personal data. */
  log(level: LogLevel, data: unknown, logger?: string): void

  /**
   * Ends the event stream of this call, and not the call: a client of 2025-11-25 resumes it after `retryMs` milliseconds and gets the rest. Default: when the
   * client chooses. Does nothing for other clients, because they would lose the result.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
   */
  closeStream(options?: { retryMs?: number }): void
}
