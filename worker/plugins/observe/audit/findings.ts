/** Finds what to record of a request. */

import { isPermitted } from '../../../engine/methods/lists.ts'
import { insufficientScope } from '../../../engine/required-scopes.ts'
import type { McpError } from '../../../protocol/errors.ts'
import { isObject, isRequest, type Message } from '../../../protocol/jsonrpc.ts'
import type { IncomingRequest, ServerInfo } from '../../../request-hooks.ts'
import type { AuditEvent, Why } from './event.ts'
import type { Write } from './log-text.ts'
import { whyFrom, whyOf } from './rejection-reason.ts'
import { type RawSubject, subjectsOf } from './subjects.ts'

/** Events of one request, and targets of one event. */
const maxSubjects = 50

export type Finding = Pick<AuditEvent, 'outcome' | 'targets' | 'scopes' | 'omitted'> & {
  reason: Why | Promise<Why> | undefined
}

/** Whether the whole request was rejected. Otherwise its messages have events of their own. */
export const isRefusal = ({ rejection }: IncomingRequest, { status }: Response): boolean =>
  rejection !== undefined || status >= 400

type Named = RawSubject & { readonly method: string }

/**
 * Returns the rejection of a request or of some of its messages, or its calls of entries with scopes.
 *
 * @param refusals messages that a limit rejected, if the response is successful
 */
export async function findingsOf(
  incoming: IncomingRequest,
  response: Response,
  serverInfo: ServerInfo,
  write: Write,
  refusals: ReadonlyMap<Message, McpError>,
): Promise<Finding[]> {
  const { rejection, principal, messages = [] } = incoming
  // Before anything is awaited: the body of a refusal can be read only now.
  const why = isRefusal(incoming, response) ? (rejection ? whyFrom(rejection) : whyOf(response)) : undefined
  const posted = messages.filter((message) => 'method' in message)
  const about = async (message: (typeof posted)[number]): Promise<Named[]> => {
    const subjects = await subjectsOf(message, (request) => serverInfo.scopesOf(principal, request, incoming))
    return subjects.map((subject) => ({ method: message.method, ...subject }))
  }

  if (why) {
    const subjects = (await Promise.all(posted.slice(0, maxSubjects).map(about))).flat()
    const finding = addFinding('refused', subjects, why)
    const scopes = [...new Set([...finding.scopes, ...neededBy(rejection)])].slice(0, maxSubjects)
    return [{ ...finding, scopes, omitted: finding.omitted + Math.max(0, posted.length - maxSubjects) }]
  }

  const toCall = async (message: (typeof posted)[number]): Promise<Finding[]> => {
    const limit = refusals.get(message)
    if (limit) return [addFinding('refused', await about(message), whyFrom(limit))]
    const privileged = (await about(message)).filter(({ scopes }) => scopes.length > 0)
    const held = privileged.filter(({ scopes }) => isPermitted({ scopes }, { principal }))
    // Not every refusal is a response of its own: one message of a batch, one of the URIs to listen to.
    const lacked = privileged.filter((subject) => !held.includes(subject))
    return [
      ...(held.length > 0 ? [addFinding('allowed', held, undefined)] : []),
      ...(lacked.length > 0 ? [addFinding('refused', lacked, whyFrom(insufficientScope(scopesIn(lacked))))] : []),
    ]
  }
  const calls = (await Promise.all(posted.filter(isRequest).map(toCall))).flat()
  const findings = calls.slice(0, maxSubjects)
  const last = findings.at(-1)
  if (last) findings[findings.length - 1] = { ...last, omitted: last.omitted + calls.length - findings.length }
  return findings

  function addFinding(outcome: Finding['outcome'], subjects: Named[], reason: Finding['reason']): Finding {
    return {
      outcome,
      reason,
      targets: subjects.slice(0, maxSubjects).map(({ method, name, uri }) => ({
        method: write(method),
        ...(name !== undefined && { name: write(name) }),
        ...(uri !== undefined && { uri: write(uri) }),
      })),
      omitted: Math.max(0, subjects.length - maxSubjects),
      scopes: scopesIn(subjects).slice(0, maxSubjects),
    }
  }
}

const scopesIn = (subjects: readonly RawSubject[]) => [...new Set(subjects.flatMap(({ scopes }) => scopes))]

/** Returns the scopes that an error names: only the session knows those of a call that the request names by its id. */
const neededBy = (error: McpError | undefined): readonly string[] =>
  error?.kind === 'insufficient_scope' && isObject(error.data) && Array.isArray(error.data.scopes)
    ? error.data.scopes.filter((scope) => typeof scope === 'string')
    : []
