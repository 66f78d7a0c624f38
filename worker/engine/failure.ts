/** Failures of handlers and interceptors: reports them, and converts them into errors for the client. */

import type { Declarations } from '../declarations/declarations.ts'
import type { CallInfo } from '../declarations/interceptor.ts'
import { failureOf, toolError } from '../declarations/result-constructors.ts'
import { DeveloperError, isA, isReported, McpError, markReported, mcpErrorOf, ToolError } from '../protocol/errors.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { CallToolResult } from '../protocol/types.ts'
import type { Call, CallEnvironment } from './call.ts'
import { infoOf } from './interceptors.ts'
import type { MethodContext } from './methods/method.ts'

/** What a failure belongs to. */
type FailedStep = Pick<Call, 'method' | 'params' | 'revision' | 'principal'> & Partial<Call>

const subjects: Readonly<Record<string, readonly [kind: string, member: string]>> = {
  'tools/call': ['tool', 'name'],
  'prompts/get': ['prompt', 'name'],
  'resources/read': ['resource', 'uri'],
}

/** Names the failed entry, as the client called it: `The tool "report"`. */
export function subjectOf({ method, params }: Pick<Call, 'method' | 'params'>): string {
  const [kind, member] = subjects[method] ?? []
  return kind && member ? `The ${kind} "${params[member]}"` : `The method "${method}"`
}

/**
 * Reports a value that a handler threw to `onError` of `serve()`.
 *
 * @returns the text for the client; `undefined` for the default, which nothing has reported
 */
export const reportFailure = (
  { handleFailure }: Declarations,
  step: FailedStep,
  signal: () => AbortSignal,
  thrown: unknown,
): { readonly text: string | undefined } | undefined =>
  handleFailure && { text: handleFailure(thrown, subjectOf(step), infoOf(step, step.params, signal)) }

/** Whether the server caused an error that has a kind, and not its client. A handler that exceeds its time has `call_interrupted`. */
const isFault = ({ kind, data }: McpError): boolean =>
  kind === 'internal_error' ||
  kind === 'unavailable' ||
  (kind === 'call_interrupted' && isObject(data) && data.reason === 'timeout')

/**
 * Converts a value that a step threw into the error for the client, and reports it, unless its client caused it.
 *
 * @returns the value itself if the endpoint has neither `onError` nor `handlerErrors`: the transport reports it
 */
export function stepError(
  declarations: Declarations,
  step: FailedStep,
  signal: () => AbortSignal,
  thrown: unknown,
): unknown {
  const error = mcpErrorOf(thrown)
  if (!declarations.handleFailure || (error && (!isFault(error) || isReported(error)))) return thrown
  const reported = reportFailure(declarations, step, signal, thrown)
  // A copy, because a handler may throw the same error again.
  if (error && !(error instanceof DeveloperError)) {
    return markReported(new McpError(error.kind, error.message, error.data, error.headers))
  }
  return markReported(new McpError('internal_error', reported?.text ?? error?.message ?? 'Internal error'))
}

/**
 * Reports a value that a tool threw: to `onError` of `serve()`, or to the log.
 *
 * @param subject names the tool
 * @param report logs a value
 * @returns the text for the model; `undefined`: the message of the value
 */
export function reportToolFailure(
  { handleFailure }: Declarations,
  call: CallInfo,
  subject: string,
  thrown: unknown,
  report: (problem: unknown) => void,
): string | undefined {
  if (handleFailure) return handleFailure(thrown, subject, { ...call })
  if (!call.signal.aborted) report(thrown)
  return undefined
}

/** Reports a value that a tool threw in a step: see `reportToolFailure`. */
export function reportInStep(
  declarations: Declarations,
  call: Call,
  environment: CallEnvironment,
  thrown: unknown,
  subject = subjectOf(call),
): string | undefined {
  const info = infoOf(call, call.params, environment.signal)
  return reportToolFailure(declarations, info, subject, thrown, (problem) => environment.report(problem))
}

/**
 * Converts a value that a tool threw into the result that the model reads. The messages of a `ToolError` and an `McpError` are always sent.
 *
 * @param report reports the value: see `reportToolFailure`
 */
export function toolFailure(thrown: unknown, report: (thrown: unknown) => string | undefined): CallToolResult {
  const isError = isA(McpError, thrown)
  const isExpected = isError ? !isFault(thrown) || isReported(thrown) : isA(ToolError, thrown)
  const text = isExpected ? undefined : report(thrown)
  return text === undefined || isError ? failureOf(thrown) : toolError(text)
}

/**
 * Returns a function that reports what a function of one entry of a list throws, such as `visibleTo`. The entry is left out, so that the list
 * contains the others, and is not kept by clients.
 *
 * @throws McpError that is no fault of the server: it answers the request
 */
export const leavingOut =
  (context: MethodContext) =>
  (thrown: unknown): undefined => {
    const { call, environment } = context
    const error = mcpErrorOf(thrown)
    if (error && !isFault(error)) throw thrown
    context.isPartial = true
    if (!reportFailure(context.server.declarations, call, environment.signal, thrown)) environment.report(thrown)
  }

/** Returns the signal of a step that cannot be cancelled. */
export const noSignal = (): AbortSignal => new AbortController().signal

/** Runs functions of declarations outside of a step, such as `visibleTo`. @throws McpError for what they throw: see `stepError` */
export async function guardStep<R>(
  declarations: Declarations,
  step: FailedStep,
  work: () => R | Promise<R>,
): Promise<R> {
  try {
    return await work()
  } catch (thrown) {
    throw stepError(declarations, step, noSignal, thrown)
  }
}
