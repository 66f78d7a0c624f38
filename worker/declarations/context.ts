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
import type { Duration } from './duration.ts'
import type { HttpRequest } from './http-request.ts'
import type { RequestContext } from './request-context.ts'
import type { Infer, Schema } from './schema.ts'
import type { HandleState, KeyedState } from './state.ts'

/** Accepts a value, or a promise of it. */
export type Awaitable<T> = T | Promise<T>

/** Computes the type of a value after `JSON.parse(JSON.stringify(value))`. A value without a JSON form has the type `never`. */
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
            | Error
            | ((...args: never[]) => unknown)
            | ReadonlyMap<unknown, unknown>
            | ReadonlySet<unknown>
        ? never
        : T extends readonly unknown[]
          ? { [K in keyof T]: undefined extends T[K] ? Exclude<Jsonify<T[K]>, undefined> | null : Jsonify<T[K]> }
          : { [K in keyof T]: Jsonify<T[K]> }

/**
 * Names a client feature that an input request needs. `ctx.supports(feature)` checks it. Clients of 2025-11-25 with the features of
 * `tasks` can answer an input request with a task.
 */
export type ClientFeature =
  | 'elicitation'
  | 'elicitation.url'
  | 'sampling'
  | 'sampling.tools'
  | 'sampling.context'
  | 'roots'
  | 'tasks.requests.elicitation.create'
  | 'tasks.requests.sampling.createMessage'

/** Holds the response of the user to a form: `content` is validated by the schema, and present if the user accepted. */
export type FormResult<T> =
  /** The user accepted the form. */
  | {
      /** The response of the user: `accept`, `decline`, or `cancel` for a form that was closed. */
      readonly action: 'accept'
      /** The validated content of the form, if the user accepted. */
      readonly content: T
    }
  /** The user declined or closed the form. */
  | { readonly action: 'decline' | 'cancel'; readonly content?: undefined }

/**
 * Holds the response of the user to a URL elicitation. `accept` means that the user agreed to open the page, not that the user completed
 * it.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#response-actions
 */
export type UrlElicitationResult = {
  /** The response of the user: `accept`, `decline`, or `cancel` for a request that was dismissed. */
  readonly action: 'accept' | 'decline' | 'cancel'
}

/** Describes a sampling request. `prompt` is short for one user message with text; otherwise pass `messages`. */
export type SamplingRequest = Omit<CreateMessageParams, 'messages'> &
  (
    | {
        /** Text of one user message, instead of `messages`. */
        prompt: string
        messages?: undefined
      }
    | {
        /** Messages of the conversation, instead of `prompt`. */
        messages: SamplingMessage[]
        prompt?: undefined
      }
  )

/** Holds the message of the client's model. `text` concatenates its text blocks. */
export type SamplingResult = CreateMessageResult & {
  /** Text blocks of the message, concatenated. */
  readonly text: string
}

/** Holds the result of an input response as the client sent it, without validation. */
export type InputResponse = Partial<ElicitResult> &
  Partial<CreateMessageResult> & {
    /** Roots of the client, in the response to `roots/list`. */
    readonly roots?: readonly Root[]
  }

/** Configures an input request. */
export type AskOptions = {
  /** Time that the client has to respond. After that, the call ends with an error. Default and maximum: 1 day. */
  timeout?: Duration
  /**
   * Lets a client of 2025-11-25 answer `ctx.elicit`, `ctx.elicitUrl` and `ctx.sample` with a task, which it works on without a connection.
   * The session polls the task, and the promise resolves with its result. The client must declare `tasks.requests.elicitation.create` or
   * `tasks.requests.sampling.createMessage`, and `serve()` needs the plugin `tasks()`. Default: the client answers the request itself.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
   */
  task?: {
    /** Time for which the client keeps the task. Default: the client decides. */
    ttl?: Duration
  }
}

/** Configures `ctx.upstream()`. */
export type UpstreamOptions = {
  /** Scopes of the provider that the token needs: among `scopes` and `additionalScopes` of the provider. Default: none. */
  scopes?: readonly string[]
  /**
   * An access token that the API has rejected: another one is returned. It is returned again if the user has replaced two rejected tokens
   * within a day, so the API refuses for another reason. Default: none.
   */
  rejected?: string | undefined
}

/** Configures a URL elicitation. */
export type UrlElicitationOptions = AskOptions & {
  /**
   * Rejects the call until the user has completed the page. A client of 2025-11-25 gets the error -32042 and repeats its request
   * afterwards; clients of later versions get an ordinary input request. Check in your own state whether the user has completed the page
   * before you call `elicitUrl`. Default: false.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
   */
  required?: boolean
  /**
   * Id of the elicitation for clients of 2025-11-25: a text of 1 to 256 characters that no other elicitation of the session has. Pass one
   * that your page can store with `ctx.session.id`, and call `server.notify.elicitationComplete` when the user has completed the page. It
   * must be the same in each round: create it in `ctx.once`. Default: an id that edgemcp creates.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
   */
  elicitationId?: string
}

/**
 * Types the members that plugins add to `ctx`: see `Plugin.context`. Extend it in a declaration of your own.
 *
 * @example
 * declare module 'edgemcp' {
 *   interface PluginContext { readonly language: string }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be added to
export interface PluginContext {}

/** Functions that return members of `ctx` for one step of a call, by the name of the member. `signal` is that of the call. */
export type ContextMembers = {
  readonly [Name in Exclude<keyof Context, 'signal'>]?: (ctx: Context) => Context[Name]
}

/** Gives a handler access to its caller, its client and its call. Handlers receive it as their second argument. */
export interface Context extends PluginContext {
  /** Aborted when the client cancels the call. In protocol versions without sessions, also when the client closes its connection. */
  readonly signal: AbortSignal
  /** The authenticated caller; `undefined` for an anonymous caller. */
  readonly principal: Principal | undefined
  /**
   * What the option `requestContext` of `serve()` returned; without the option, an empty object. In protocol versions without sessions, it
   * is that of the HTTP request of the current round. In sessions and tasks, it is that of the request that started the call.
   */
  readonly requestContext: RequestContext
  /**
   * The HTTP request that started the current round: the call, or the answer to its last input request. It is never stored: `undefined` in a
   * run of a task, and in a call that runs again after its Durable Object was lost.
   */
  readonly request: HttpRequest | undefined
  /**
   * The session of the call; `undefined` in protocol versions without sessions. The id has 16 characters, and is the same in all calls of
   * the session. It names the session in logs and to `server.notify`, and is no credential: it is not `Mcp-Session-Id`.
   */
  readonly session: { readonly id: string } | undefined
  /** The name and version that the client reports. They are not authenticated: use them for display only. */
  readonly client: Implementation | undefined
  /**
   * The id of the JSON-RPC request, which the client chose. It is unique among the open requests of a session. In protocol versions without
   * sessions, each round is a request with its own id. `undefined` while a task runs.
   */
  readonly requestId: RequestId | undefined
  /** The `_meta` of the request. */
  readonly meta: Readonly<Meta>

  /**
   * Returns whether the client declared the feature. An input request that needs an undeclared feature throws.
   *
   * @throws Error for an unknown feature
   */
  supports(feature: ClientFeature): boolean

  /**
   * Asks the user to fill in a form, and resolves with the response.
   *
   * The handler runs again from its start for each response, and code before the `await` runs in every round: put side effects into `once`.
   *
   * @param key identifies the input request; unique in the call
   * @param message explains to the user what to fill in
   * @param schema an object of plain fields: text, numbers, booleans, choices
   * @throws McpError `missing_client_capability` when the client does not support forms; ClientError when the client responds with an
   * error; Error for an invalid argument, a field that forms cannot show, and a repeated key
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#form-mode-elicitation-requests
   */
  elicit<const S extends Schema>(
    key: string,
    message: string,
    schema: S,
    options?: AskOptions,
  ): Promise<FormResult<Infer<S>>>

  /**
   * Asks the user to open a page, for data that must not pass through the client: passwords, payments, consent to other sites. The page
   * must authenticate the user itself, because its visitor may be another user than the caller.
   *
   * @param key identifies the input request; unique in the call
   * @param message explains to the user why to open the page
   * @param url an https URL without personal data and credentials
   * @throws McpError `missing_client_capability` when the client does not support URL elicitation; ClientError when the client responds
   * with an error; Error for an invalid argument, another URL, and a repeated key
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-elicitation-requests
   */
  elicitUrl(
    key: string,
    message: string,
    url: string | URL,
    options?: UrlElicitationOptions,
  ): Promise<UrlElicitationResult>

  /**
   * Returns a valid access token of the user for the API of an identity provider. It is refreshed when it expires. If the user has not
   * connected the provider, or a scope is missing, the user is asked to open a page; the model reads its URL if the client cannot open pages.
   * Needs `signIn()` of `edgemcp/sign-in`.
   *
   * @param provider the `name` of the provider, such as `github`
   * @throws ToolError for the model, while the user has not connected the provider; McpError `unavailable` while the provider does not answer
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-elicitation-requests
   */
  upstream(provider: string, options?: UpstreamOptions): Promise<string>

  /**
   * Notifies the client that the user has completed the page of a URL elicitation. Does nothing in protocol versions without this
   * notification. Outside of the call, use `server.notify.elicitationComplete`.
   *
   * @throws Error for a key that is no text
   */
  elicitationComplete(key: string): void

  /**
   * Requests a message from the client's model.
   *
   * @throws McpError `missing_client_capability` when the client does not support sampling; ClientError when the client responds with an
   * error; Error for an invalid argument and a repeated key
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/sampling
   */
  sample(key: string, request: SamplingRequest, options?: AskOptions): Promise<SamplingResult>

  /**
   * Requests the roots of the client: the folders that the user works in.
   *
   * @param key identifies the input request. Default: `roots`
   * @throws McpError `missing_client_capability` when the client does not support roots; ClientError when the client responds with an error;
   * Error for a key that is no text, and for a repeated key
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/roots
   */
  roots(key?: string): Promise<readonly Root[]>

  /**
   * Sends input requests as the protocol defines them, and ends the round. The handler runs again with the responses, which `inputResponse`
   * returns. A key that is requested again needs another response.
   *
   * @param requests by key, at least one
   * @returns a promise that never resolves: `return` it, so that TypeScript sees the end of the handler
   * @throws McpError `missing_client_capability` when the client does not support one of the requests; Error for an invalid argument
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
   */
  requestInput(requests: Readonly<Record<string, InputRequest>>, options?: Omit<AskOptions, 'task'>): Promise<never>

  /**
   * Returns the result of an input response as the client sent it, without validation; `undefined` before the response.
   *
   * @throws ClientError when the client responded with an error; Error for a key that is no text
   */
  inputResponse(key: string): InputResponse | undefined

  /**
   * Runs a side effect once per call, however often the handler runs. Every round gets the stored result of the effect, after
   * `JSON.parse(JSON.stringify(value))`: a `Date` becomes a string, and `undefined` in a list `null`.
   *
   * @param key identifies the effect; unique in the call
   * @throws TypeError for a result without a JSON form, such as a `Map`; Error for an invalid argument and a repeated key; what the effect
   * throws
   */
  once<T>(key: string, effect: () => Awaitable<T>): Promise<Jsonify<T>>

  /**
   * Opens state that outlives the call, declared with `edgemcp/state`: that of the session, the user or the tenant, or that of a handle.
   * Each operation is a transaction, and runs in each round: put operations that write into `once`.
   *
   * @param of the declaration of the state
   * @throws McpError `internal_error` when the call has no session, user or tenant, `insufficient_scope` when the caller lacks a scope of the
   * state. Operations throw `invalid_handle` for a handle that has expired or was created for another principal or server
   * @throws Error for what is no state
   */
  state<T>(of: KeyedState<T>): T
  state<T>(of: HandleState<T>, handle: string): T

  /**
   * Creates a handle for state of its own. Nothing is stored before its first use.
   *
   * @throws McpError `insufficient_scope` when the caller lacks a scope of the state; Error for what is no state with handles
   */
  createHandle(of: HandleState<unknown>): Promise<string>

  /**
   * Waits for a duration. A task leaves memory meanwhile; any other call waits in memory and keeps its connection open.
   *
   * The end of the sleep is stored under the key. A handler that runs again sleeps until that time. Do not sleep inside `once`.
   *
   * @param key identifies the sleep; unique among the sleeps of the call
   * @param duration milliseconds, or a text such as `2s`, `10m`, `1h`, `7d`
   * @throws Error for an invalid duration, a repeated key, and a sleep inside `once`
   *
   * @example await ctx.sleep('overnight', '8h')
   */
  sleep(key: string, duration: Duration): Promise<void>

  /**
   * Waits like `sleep`, until a time: a `Date`, or milliseconds since 1970. @throws Error for an invalid time, a repeated key, and a sleep
   * inside `once`
   */
  sleepUntil(key: string, moment: number | { valueOf(): number }): Promise<void>

  /**
   * Sends a progress notification if the client sent a progress token. Values that do not increase, and numbers that are not finite, are
   * not sent.
   *
   * @throws Error for an argument of another type
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
   */
  progress(progress: number, total?: number, message?: string): void

  /**
   * Sends a log message to the client if its log level includes it. Do not log secrets or personal data.
   *
   * @param data any value that has a JSON form, or an `Error`, which is sent as its text, without its stack
   * @throws Error for an unknown level, for data without a JSON form, and for a logger that is no text
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
   */
  log(level: LogLevel, data: unknown, logger?: string): void

  /**
   * Closes the event stream of the call, while the call continues. A client of 2025-11-25 resumes the stream after `retryMs` milliseconds;
   * without `retryMs`, the client decides when. Does nothing for other clients, which would lose the result.
   *
   * @throws Error for `retryMs` that is no whole number, and for an unknown option
   * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
   */
  closeStream(options?: { retryMs?: number }): void
}
