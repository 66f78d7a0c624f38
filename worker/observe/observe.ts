import { waitUntil } from 'cloudflare:workers'
import { sessionMark } from '../audit/writing.ts'
import type { Call, Outcome } from '../engine/call.ts'
import { isSuspended, onCall } from '../engine/on-outcome.ts'
import { checkOptions, type KindsOf } from '../options/check.ts'
import * as kind from '../options/kinds.ts'
import { asMcpError } from '../protocol/errors.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Params } from '../protocol/types.ts'
import type { Module, Registry } from '../server/server.ts'
import type { CallOutcome, MethodEvent, Sink, Who } from './event.ts'
import { redacted } from './redact.ts'
import { traceOf } from './trace.ts'

export type ObserveOptions = {
  /** Where events go: one place, or several. */
  to: Sink | readonly Sink[]
  /** Whether events have the arguments of tools. Default: no. */
  arguments?: boolean
}

/**
 * Tells of every call of a method that answers from what was declared: lists, calls, reads, completions, and those of extensions. A call that
 * asks is told of in each of its rounds.
 *
 * @example
 * server.use(observe({ to: toLogs() }))
 */
export function observe(options: ObserveOptions): Module {
  checkOptions('observe()', options, { to: kind.sinks, arguments: kind.flag } satisfies KindsOf<ObserveOptions>)
  const { to, arguments: isWanted = false } = options
  const sinks = [to].flat()
  return ({ registry }) => {
    onCall(registry, (call) => {
      const since = Date.now()
      return (outcome) => {
        if (!isSuspended(outcome)) waitUntil(emit(call, since, outcome))
      }
    })

    async function emit(call: Call, since: number, outcome: unknown): Promise<void> {
      const { method, params, revision, principal, client, session } = call
      const { name, uri } = params
      const event: MethodEvent = {
        at: new Date(since).toISOString(),
        milliseconds: Date.now() - since,
        method,
        name: typeof name === 'string' ? name : undefined,
        uri: typeof uri === 'string' ? uri : undefined,
        arguments: isWanted ? argumentsOf(registry, call) : undefined,
        outcome: cameOf(outcome, call),
        isTask: call.isTask || undefined,
        revision: revision.date,
        session: await sessionMark(session?.id),
        principal: whoOf(principal),
        client,
        trace: traceOf(params),
      }
      await Promise.all(sinks.map(async (sink) => sink(event))).catch((problem) => console.error(problem))
    }
  }
}

export function cameOf(outcome: unknown, { revision }: Call): CallOutcome {
  if (isOutcome(outcome)) {
    if ('inputRequests' in outcome) return { is: 'asked', keys: Object.keys(outcome.inputRequests) }
    const { isError, content } = outcome.done
    return isError ? { is: 'failed', message: textIn(content) } : { is: 'answered' }
  }
  // It has been reported already.
  const { kind, message } = asMcpError(outcome, () => {})
  return { is: 'error', kind, code: revision.error(kind).code, message }
}

const isOutcome = (outcome: unknown): outcome is Outcome =>
  isObject(outcome) && ('done' in outcome || 'inputRequests' in outcome)

function textIn(content: unknown): string {
  const first: unknown = Array.isArray(content) ? content[0] : undefined
  return isObject(first) && typeof first.text === 'string' ? first.text.slice(0, 200) : ''
}

function argumentsOf({ tools }: Registry, { method, params }: Call): Params | undefined {
  if (method !== 'tools/call' || !isObject(params.arguments)) return undefined
  const schema = tools.get(String(params.name))?.item.inputSchema
  return redacted(params.arguments, schema) as Params
}

export const whoOf = (principal: Principal | undefined): Who | undefined =>
  principal && {
    issuer: principal.issuer,
    subject: principal.subject,
    client: principal.client,
    tenant: principal.tenant,
  }
