import { whyOf } from '../audit/why.ts'
import { sessionMark, sessionOf, writer } from '../audit/writing.ts'
import type { AuditHook, IncomingRequest, ServerInfo } from '../auth/auth.ts'
import { methods } from '../engine/methods/index.ts'
import { checkOptions } from '../options/check.ts'
import * as kind from '../options/kinds.ts'
import { type ErrorKind, errorTable, type McpError } from '../protocol/errors.ts'
import { isRequest, isResponse, type Message } from '../protocol/jsonrpc.ts'
import { claimedVersion } from '../protocol/meta.ts'
import { revisionOf, unsaidRevision } from '../protocol/revisions/index.ts'
import type { Params } from '../protocol/types.ts'
import type { CallOutcome, MethodEvent, Sink } from './event.ts'
import { whoOf } from './observe.ts'
import { traceOf } from './trace.ts'

export type MessagesOptions = {
  /** Where events go: one place, or several. */
  to: Sink | readonly Sink[]
}

/** Events of one request: a batch may have many messages. */
const most = 50

/**
 * Tells of every message that `observe` says nothing of: handshakes, pings, log levels, subscriptions, notifications, what clients
 * answer to questions, and whatever was refused before it was called.
 *
 * @example
 * serve(server, { audit: messages({ to: toLogs() }) })
 */
export function messages(options: MessagesOptions): AuditHook {
  checkOptions('messages()', options, { to: kind.sinks })
  const { to } = options
  const sinks = [to].flat()
  return (incoming, response, site) => {
    const { status } = response
    const toldOf = (refusals: ReadonlyMap<Message, McpError>) =>
      (incoming.messages ?? [])
        .filter((message) => wasRefused(incoming, response) || refusals.has(message) || !isCall(message, site))
        .slice(0, most)
    const nothing: ReadonlyMap<Message, McpError> = new Map()
    if (!incoming.refusals && toldOf(nothing).length === 0) return
    // A body can be read while it is still there.
    const why = incoming.rejection ?? (status >= 400 ? whyOf(response) : undefined)
    const work = async () => {
      const refusals = (await incoming.refusals) ?? nothing
      await tell(toldOf(refusals), incoming, site, { status, reason: await why, refusals })
    }
    site.waitUntil(work().catch((problem) => site.report(problem)))
  }

  async function tell(
    told: readonly Message[],
    { request, principal }: IncomingRequest,
    site: ServerInfo,
    end: End,
  ): Promise<void> {
    if (told.length === 0) return
    const { status } = end
    const id = sessionOf(request, site)
    const write = writer(request, id)
    const circumstances = {
      at: new Date().toISOString(),
      milliseconds: undefined,
      arguments: undefined,
      isTask: undefined,
      session: await sessionMark(id),
      principal: whoOf(principal),
      client: undefined,
    }
    for (const message of told) {
      const { method, params = {} } = isResponse(message) ? { method: 'response' } : message
      const revision = revisionIn(request, params)
      const event: MethodEvent = {
        ...circumstances,
        method: write(method) ?? '',
        name: write(params.name),
        uri: write(params.uri),
        outcome: cameOf({ status, reason: end.refusals.get(message) ?? end.reason }, revision ?? unsaidRevision, write),
        revision: revision?.date,
        trace: traceOf(params),
      }
      await Promise.all(sinks.map(async (sink) => sink(event))).catch((problem) => site.report(problem))
    }
  }
}

type Reason = { kind: string; message: string } | undefined

/** What became of a request, and of those of its messages that a limit refused. */
type End = { status: number; reason: Reason; refusals: ReadonlyMap<Message, McpError> }

/** Statuses of calls that a limit refuses before `observe` sees them. */
const limited: readonly number[] = [413, 429]

/** Did nothing run? A session's answers say what is wrong with a call, unless there is no such session. */
const wasRefused = ({ rejection, request }: IncomingRequest, { status }: Response): boolean =>
  rejection !== undefined || limited.includes(status) || (status === 404 && request.headers.has('Mcp-Session-Id'))

/** Is this what `observe` tells of? */
const isCall = (message: Message, { server }: ServerInfo): boolean =>
  isRequest(message) && (server.registry.methods.has(message.method) || methods[message.method] !== undefined)

function cameOf(
  { status, reason }: Pick<End, 'status' | 'reason'>,
  revision: typeof unsaidRevision,
  write: ReturnType<typeof writer>,
): CallOutcome {
  if (!reason) return { is: 'received', status }
  const { kind, message } = reason
  const code = Object.hasOwn(errorTable, kind) ? revision.error(kind as ErrorKind).code : 0
  return { is: 'error', kind, code, message: write(message) ?? '' }
}

/** As far as the message says it itself. */
function revisionIn({ headers }: Request, params: Params) {
  const said = claimedVersion(params) ?? headers.get('MCP-Protocol-Version') ?? params.protocolVersion
  return typeof said === 'string' ? revisionOf(said) : undefined
}

kind.mark('factory', messages)
