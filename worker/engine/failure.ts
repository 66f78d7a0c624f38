/** Failures of handlers and interceptors: reports them, and converts them into errors for the client. */
import type { Declarations } from '../declarations/declarations.ts'
import { InvalidReturn, isReported, McpError, markReported, mcpErrorOf } from '../protocol/errors.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { Call } from './call.ts'
import { infoOf } from './interceptors.ts'

/** What a failure belongs to. */
type FailedStep = Pick<Call, 'method' | 'params' | 'revision' | 'principal'> & Partial<Call>

const subjects: Readonly<Record<string, readonly [kind: string, member: string]>> = {
  'tools/call': ['tool', 'name'],
  'prompts/get': ['prompt', 'name'],
  'resources/read': ['resource', 'uri'],
}

/** Names what failed, as the client called it: `The tool "report"`. */
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
 * Converts what a step threw into the error for the client, and reports it, unless its client caused it.
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
  if (error && !(error instanceof InvalidReturn)) {
    return markReported(new McpError(error.kind, error.message, error.data, error.headers))
  }
  return markReported(new McpError('internal_error', reported?.text ?? error?.message ?? 'Internal error'))
}

/** The signal of what cannot be cancelled. */
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
