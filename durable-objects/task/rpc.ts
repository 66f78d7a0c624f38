/** The RPC interfaces of tasks. Types only, so that `worker/` can import them. */

import type { Checked } from '../../worker/declarations/schema.ts'
import type { Answer } from '../../worker/engine/journal.ts'
import type { StoredContext } from '../../worker/engine/request-context.ts'
import type { ErrorKind } from '../../worker/protocol/errors.ts'
import type { ClientCapabilities, Implementation, InputRequest, Params, Result } from '../../worker/protocol/types.ts'

/** The RPC interface of a task. Methods of a task that does not exist return `undefined`. */
export interface TaskRpc extends TaskListRpc {
  /**
   * Starts a call, or continues it.
   *
   * @param answers the responses to input requests from before the call became a task
   * @param isResumed the client has a `requestState` of the call: if nothing of the call is stored, it is not started again
   */
  start(
    call: TaskCall,
    terms: TaskTerms,
    references: TaskReferences,
    answers: Readonly<Record<string, Answer>>,
    isResumed: boolean,
  ): Promise<StartResult>
  get(): Promise<TaskView | undefined>
  /** Returns the scopes of the tool that started the task. */
  scopes(): Promise<readonly string[] | undefined>
  /** Waits for some time for the end of the run, then returns the task. */
  settled(): Promise<TaskView | undefined>
  /** Stores responses to open input requests, and ignores others. `error`: a response is invalid, and none was stored. */
  update(answers: Readonly<Record<string, Answer>>): Promise<{ task: TaskView } | { error: TaskError } | undefined>
  /** Cancels the task unless it has ended. `before`: its status until now. */
  cancel(): Promise<{ before: TaskStatus; task: TaskView } | undefined>
  /** Sends the current status, and each later one, to clients that listen at this shard. */
  watch(shard: number): Promise<void>
}

/** The call of a task, and its caller. */
export type TaskCall = {
  readonly params: Params
  readonly capabilities: ClientCapabilities
  readonly client: Implementation | undefined
  /** The principal, sealed by `worker/plugins/tasks/task-principal.ts`; `undefined` for an anonymous caller. */
  readonly principal: string | undefined
  /** The tenant of the endpoint: see `Tenants`. */
  readonly tenant?: string | undefined
  /** The request context of the call. Absent without one. */
  readonly requestContext?: StoredContext | undefined
  /**
   * The validated arguments, or why they are invalid, if that was decided when the tool was called. Absent where each run validates the
   * params.
   */
  readonly input?: Checked | undefined
}

/** The options of a task. Durations are milliseconds. */
export type TaskTerms = {
  /** How long the call waits for its result before it becomes a task. */
  readonly after: number
  readonly ttl: number
  /** Pause between two polls of a client. */
  readonly poll: number
  /** How often the handler runs again after it throws. */
  readonly retries: number
}

/** How other objects and clients refer to a task. */
export type TaskReferences = {
  /** Name of its Durable Object. */
  readonly name: string
  /** The id that its client has. */
  readonly taskId: string
  /** The object of the session that receives its status. */
  readonly session: string | undefined
  /** Scopes that a token needs to read, answer and cancel it. */
  readonly scopes: readonly string[]
}

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

export type TaskError = {
  readonly kind: ErrorKind
  readonly message: string
  readonly data?: unknown
}

/** The outcome of a task. A cancelled task has neither. */
export type TaskEnd = { readonly result?: Result; readonly error?: TaskError }

/** The outcome of a call that ended before it became a task, or the task. */
export type StartResult =
  | { readonly task: TaskView }
  | { readonly done: Result }
  | { readonly error: TaskError }
  | { readonly inputRequests: Readonly<Record<string, InputRequest>> }

/** A task as its client sees it. Times are milliseconds since 1970, `ttl` and `poll` milliseconds. */
export type TaskView = TaskEnd & {
  readonly taskId: string
  readonly status: TaskStatus
  readonly statusMessage?: string | undefined
  readonly createdAt: number
  readonly lastUpdatedAt: number
  readonly ttl: number
  readonly poll: number
  /** When it continues, or when its open input requests time out. */
  readonly due?: number | undefined
  /** Rounds that have ended with input requests. */
  readonly rounds: number
  readonly inputRequests?: Readonly<Record<string, InputRequest>>
  /** Name of its tool, once the task has ended. */
  readonly tool?: string
}

/** The RPC interface of an object that stores a list of tasks. */
export interface TaskListRpc {
  /** @param expires milliseconds since 1970 */
  list(task: ListedTask, expires: number): Promise<void>
  /** Returns the tasks after a position, in the order in which they started. */
  listed(after: number, limit: number): Promise<{ tasks: ListedTask[]; next: number | undefined }>
}

export type ListedTask = { readonly name: string; readonly taskId: string }
