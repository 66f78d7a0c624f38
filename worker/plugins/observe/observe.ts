import { type BackgroundWork, observeWork } from '../../background-work.ts'
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import type { Declarations } from '../../declarations/declarations.ts'
import type { CallInfo } from '../../declarations/interceptor.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Outcome } from '../../declarations/outcome.ts'
import type { Plugin, Runtime } from '../../plugin.ts'
import { asMcpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import { oldestRevision, revisionOf } from '../../protocol/revisions/index.ts'
import type { CallOutcome, MethodEvent, Sink } from './event.ts'
import { observeMessages } from './messages.ts'
import { redacted } from './redact.ts'
import { traceOf } from './trace.ts'
import { whoOf } from './who-of.ts'

/** Configures `observe()`. */
export type ObserveOptions = {
  /** Receives the events: one sink, or several. */
  sinks: Sink | readonly Sink[]
  /** Whether events contain the arguments of tools, without members that the schema marks as `writeOnly` or as passwords. Default: false. */
  arguments?: boolean
  /**
   * Whether other messages have events, too: handshakes, pings, log levels, subscriptions, notifications, input responses, and rejected
   * messages. At most 50 per request. Default: false.
   */
  all?: boolean
}

const kinds: KindsOf<ObserveOptions> = { sinks: kind.sinks, arguments: kind.flag, all: kind.flag }

/**
 * Creates a plugin that emits an event for each call: lists, calls, reads, completions, and methods of extensions. A call that needs input
 * has an event per round. Work of plugins that no request causes has events, too: publications and deliveries of `edgemcp/events`.
 *
 * @throws Error for an invalid option. The message names the fix
 *
 * @example
 * serve(server, { plugins: [observe({ sinks: consoleSink() })] })
 */
export function observe(options: ObserveOptions): Plugin {
  checkOptions('observe()', options, kinds)
  const { arguments: isWanted = false, all: hasAllMessages = false } = options
  const sinks = [options.sinks].flat()
  return {
    name: 'observe',
    interceptor: (runtime) => (call, next) => {
      const since = Date.now()
      return withOutcome(next(), call, (outcome) => {
        if (outcome) runtime.waitUntil(emit(runtime, call, since, outcome))
      })
    },
    provide: (runtime) => {
      observeWork(runtime, emitWork)
      return {}
    },
    ...(hasAllMessages && { onResponse: observeMessages(sinks) }),
  }

  async function emit({ declarations }: Runtime, call: CallInfo, since: number, outcome: CallOutcome): Promise<void> {
    const { method, params, protocolVersion, principal, client, session } = call
    const { name, uri } = params
    const event: MethodEvent = {
      at: new Date(since).toISOString(),
      milliseconds: Date.now() - since,
      method,
      name: typeof name === 'string' ? name : undefined,
      uri: typeof uri === 'string' ? uri : undefined,
      arguments: isWanted ? argumentsOf(declarations, call) : undefined,
      outcome,
      isTask: call.isTask || undefined,
      revision: protocolVersion,
      session: session?.id,
      principal: whoOf(principal),
      client,
      trace: traceOf(params),
    }
    await send(event)
  }

  function emitWork({
    method,
    name,
    since,
    milliseconds,
    error,
    principal,
    details,
  }: BackgroundWork): Promise<unknown> {
    return send({
      at: new Date(since).toISOString(),
      milliseconds,
      method,
      name,
      uri: undefined,
      arguments: undefined,
      outcome: error ? { type: 'error', ...error } : { type: 'answered' },
      isTask: undefined,
      revision: undefined,
      session: undefined,
      principal,
      client: undefined,
      trace: undefined,
      details,
    })
  }

  function send(event: MethodEvent): Promise<unknown> {
    return Promise.all(sinks.map(async (sink) => sink(event)))
  }
}

/**
 * Reports the outcome of a step when the step has ended.
 *
 * @returns the outcome of `step`
 */
export async function withOutcome(
  step: Promise<Outcome>,
  { protocolVersion }: Pick<CallInfo, 'protocolVersion'>,
  report: (outcome: CallOutcome | undefined) => void,
): Promise<Outcome> {
  try {
    const outcome = await step
    report(outcomeOf(outcome))
    return outcome
  } catch (thrown) {
    // The engine has reported it.
    const { kind, message } = asMcpError(thrown, () => {})
    const { code } = (revisionOf(protocolVersion) ?? oldestRevision).error(kind)
    report({ type: 'error', kind, code, message })
    throw thrown
  }
}

/** Returns `undefined` for a task that sleeps. */
function outcomeOf(outcome: Outcome): CallOutcome | undefined {
  if (outcome.type === 'suspended') return undefined
  if (outcome.type === 'input_required') return { type: 'input_required', keys: Object.keys(outcome.inputRequests) }
  const { isError, content } = outcome.result
  return isError ? { type: 'tool_error', message: textIn(content) } : { type: 'answered' }
}

function textIn(content: unknown): string {
  const first: unknown = Array.isArray(content) ? content[0] : undefined
  return isObject(first) && typeof first.text === 'string' ? first.text.slice(0, 200) : ''
}

function argumentsOf({ tools }: Declarations, { method, params }: CallInfo): MethodEvent['arguments'] {
  if (method !== 'tools/call' || !isObject(params.arguments)) return undefined
  const schema = tools.get(String(params.name))?.item.inputSchema
  const copy = redacted(params.arguments, schema)
  return isObject(copy) || typeof copy === 'string' ? copy : undefined
}
