import { waitUntil } from 'cloudflare:workers'
import { sessionMark } from '../audit/writing.ts'
import type { Call, Outcome } from '../engine/call.ts'
import { isAsleep, watchCalls } from '../engine/watching.ts'
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
  const { to, arguments: wanted = false } = options
  const sinks = [to].flat()
  return ({ registry }) => {
    watchCalls(registry, (call) => {
      const since = Date.now()
      return (came) => {
        if (!isAsleep(came)) waitUntil(tell(call, since, came))
      }
    })

    async function tell(call: Call, since: number, came: unknown): Promise<void> {
      const { method, params, revision, principal, client, session } = call
      const { name, uri } = params
      const event: MethodEvent = {
        at: new Date(since).toISOString(),
        milliseconds: Date.now() - since,
        method,
        name: typeof name === 'string' ? name : undefined,
        uri: typeof uri === 'string' ? uri : undefined,
        arguments: wanted ? argumentsOf(registry, call) : undefined,
        outcome: cameOf(came, call),
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

export function cameOf(came: unknown, { revision }: Call): CallOutcome {
  if (isOutcome(came)) {
    if ('asks' in came) return { is: 'asked', keys: Object.keys(came.asks) }
    const { isError, content } = came.done
    return isError ? { is: 'failed', message: textIn(content) } : { is: 'answered' }
  }
  // It has been reported already.
  const { kind, message } = asMcpError(came, () => {})
  return { is: 'error', kind, code: revision.error(kind).code, message }
}

const isOutcome = (came: unknown): came is Outcome => isObject(came) && ('done' in came || 'asks' in came)

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
