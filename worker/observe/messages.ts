import { whyOf } from '../audit/why.ts'
import { sessionMark, sessionOf, writer } from '../audit/writing.ts'
import type { Audit, Site, Visit } from '../auth/auth.ts'
import { methods } from '../engine/methods/index.ts'
import { type ErrorKind, errorTable } from '../protocol/errors.ts'
import { isRequest, isResponse, type Message } from '../protocol/jsonrpc.ts'
import { claimedVersion } from '../protocol/meta.ts'
import { revisionOf, unsaidRevision } from '../protocol/revisions/index.ts'
import type { Params } from '../protocol/types.ts'
import type { Came, MethodEvent, Sink } from './event.ts'
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
export function messages({ to }: MessagesOptions): Audit {
  const sinks = [to].flat()
  return (visit, response, site) => {
    const told = (visit.messages ?? [])
      .filter((message) => wasRefused(visit, response) || !isCall(message, site))
      .slice(0, most)
    if (told.length === 0) return
    // A body can be read while it is still there.
    const why = visit.error ?? (response.status >= 400 ? whyOf(response) : undefined)
    const work = Promise.resolve(why).then((reason) => tell(told, visit, site, { status: response.status, reason }))
    site.waitUntil(work.catch((problem) => site.report(problem)))
  }

  async function tell(told: readonly Message[], { request, principal }: Visit, site: Site, end: End): Promise<void> {
    const id = sessionOf(request, site)
    const write = writer(request, id)
    const circumstances = {
      at: new Date().toISOString(),
      milliseconds: undefined,
      arguments: undefined,
      isTask: undefined,
      session: await sessionMark(id),
      who: whoOf(principal),
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
        came: cameOf(end, revision ?? unsaidRevision, write),
        revision: revision?.date,
        trace: traceOf(params),
      }
      await Promise.all(sinks.map(async (sink) => sink(event))).catch((problem) => site.report(problem))
    }
  }
}

type End = { status: number; reason: { kind: string; message: string } | undefined }

/** Statuses of calls that a limit refuses before `observe` sees them. */
const limited: readonly number[] = [413, 429]

/** Did nothing run? A session's answers say what is wrong with a call, unless there is no such session. */
const wasRefused = ({ error, request }: Visit, { status }: Response): boolean =>
  error !== undefined || limited.includes(status) || (status === 404 && request.headers.has('Mcp-Session-Id'))

/** Is this what `observe` tells of? */
const isCall = (message: Message, { server }: Site): boolean =>
  isRequest(message) && (server.registry.methods.has(message.method) || methods[message.method] !== undefined)

function cameOf({ status, reason }: End, revision: typeof unsaidRevision, write: ReturnType<typeof writer>): Came {
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
