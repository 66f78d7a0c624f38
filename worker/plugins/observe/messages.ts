/** Events of messages that are not calls. */
import { callMethod } from '../../engine/methods/index.ts'
import { isErrorKind, type McpError } from '../../protocol/errors.ts'
import { isRequest, isResponse, type Message } from '../../protocol/jsonrpc.ts'
import { claimedVersion } from '../../protocol/meta.ts'
import type { Revision } from '../../protocol/revision.ts'
import { defaultRevision } from '../../protocol/revisions/default-version.ts'
import { revisionOf } from '../../protocol/revisions/index.ts'
import type { Params } from '../../protocol/types.ts'
import type { AuditHook, IncomingRequest, ServerInfo } from '../../request-hooks.ts'
import { loggedSession, sessionOf, writer } from './audit/log-text.ts'
import { whyOf } from './audit/rejection-reason.ts'
import type { CallOutcome, MethodEvent, Sink } from './event.ts'
import { traceOf } from './trace.ts'
import { whoOf } from './who-of.ts'

/** Events of one request: a batch may contain many messages. */
const maxSubjects = 50

/**
 * Returns a hook that emits an event for every message that no interceptor sees: handshakes, pings, log levels, subscriptions,
 * notifications, input responses, and rejected messages.
 */
export function observeMessages(sinks: readonly Sink[]): AuditHook {
  return (incoming, response, serverInfo) => {
    const { status } = response
    const toldOf = (refusals: ReadonlyMap<Message, McpError>) =>
      (incoming.messages ?? [])
        .filter((message) => wasRefused(incoming, response) || refusals.has(message) || !isCall(message, serverInfo))
        .slice(0, maxSubjects)
    const nothing: ReadonlyMap<Message, McpError> = new Map()
    if (!incoming.refusals && toldOf(nothing).length === 0) return
    // A body can be read while it is still there.
    const why = incoming.rejection ?? (status >= 400 ? whyOf(response) : undefined)
    const work = async () => {
      const refusals = (await incoming.refusals) ?? nothing
      await emit(toldOf(refusals), incoming, serverInfo, { status, reason: await why, refusals })
    }
    serverInfo.waitUntil(work().catch((problem) => serverInfo.report(problem)))
  }
  async function emit(
    observed: readonly Message[],
    { request, principal }: IncomingRequest,
    serverInfo: ServerInfo,
    end: End,
  ): Promise<void> {
    if (observed.length === 0) return
    const { status } = end
    const id = sessionOf(request, serverInfo)
    const write = writer(request, id, serverInfo.auth)
    const circumstances = {
      at: new Date().toISOString(),
      milliseconds: undefined,
      arguments: undefined,
      isTask: undefined,
      session: loggedSession(id),
      principal: whoOf(principal),
      client: undefined,
    }
    for (const message of observed) {
      const { method, params = {} } = isResponse(message) ? { method: 'response' } : message
      const revision = revisionIn(request, params)
      const event: MethodEvent = {
        ...circumstances,
        method: write(method) ?? '',
        name: write(params.name),
        uri: write(params.uri),
        outcome: cameOf(
          { status, reason: end.refusals.get(message) ?? end.reason },
          revision ?? defaultRevision,
          write,
        ),
        revision: revision?.date,
        trace: traceOf(params),
      }
      await Promise.all(sinks.map(async (sink) => sink(event))).catch((problem) => serverInfo.report(problem))
    }
  }
}

type Reason = { kind: string; message: string } | undefined

/** The outcome of a request, and of its messages that a limit rejected. */
type End = { status: number; reason: Reason; refusals: ReadonlyMap<Message, McpError> }

/** Statuses of calls that a limit rejects before an interceptor runs. */
const limited: readonly number[] = [413, 429]

/** Whether nothing of the request ran. Responses of a session report errors of calls, unless the session does not exist. */
const wasRefused = ({ rejection, request }: IncomingRequest, { status }: Response): boolean =>
  rejection !== undefined || limited.includes(status) || (status === 404 && request.headers.has('Mcp-Session-Id'))

/** Whether the interceptor of `observe()` sees a message. */
const isCall = (message: Message, { server }: ServerInfo): boolean =>
  isRequest(message) && (server.declarations.methods.has(message.method) || callMethod(message.method) !== undefined)

function cameOf(
  { status, reason }: Pick<End, 'status' | 'reason'>,
  revision: Revision,
  write: ReturnType<typeof writer>,
): CallOutcome {
  if (!reason) return { type: 'received', status }
  const { kind, message } = reason
  const code = isErrorKind(kind) ? revision.error(kind).code : 0
  return { type: 'error', kind, code, message: write(message) ?? '' }
}

/** Returns the protocol version, if the message states it. */
function revisionIn({ headers }: Request, params: Params) {
  const message = claimedVersion(params) ?? headers.get('MCP-Protocol-Version') ?? params.protocolVersion
  return typeof message === 'string' ? revisionOf(message) : undefined
}
