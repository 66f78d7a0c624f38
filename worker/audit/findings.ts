/** What there is to tell of one request. */
import type { Site, Visit } from '../auth/auth.ts'
import { insufficientScope } from '../engine/scopes.ts'
import type { McpError } from '../protocol/errors.ts'
import { isRequest, type Message } from '../protocol/jsonrpc.ts'
import type { AuditEvent, Why } from './event.ts'
import { type RawSubject, subjectsOf } from './subjects.ts'
import { whyFrom, whyOf } from './why.ts'
import type { Write } from './writing.ts'

/** Events of one request, and subjects of one event. */
const most = 50

export type Finding = Pick<AuditEvent, 'outcome' | 'what' | 'scopes' | 'more'> & { why: Why | Promise<Why> | undefined }

/** Is the whole request refused? Else its messages are told of one by one. */
export const isRefusal = ({ error }: Visit, { status }: Response): boolean => error !== undefined || status >= 400

type Named = RawSubject & { readonly method: string }

/**
 * Everything but who and where: a refusal of the whole request, or of some of its messages, or what its messages use that takes scopes.
 *
 * @param refusals messages that a limit refused, if the response is no refusal
 */
export function findingsOf(
  visit: Visit,
  response: Response,
  { server }: Site,
  write: Write,
  refusals: ReadonlyMap<Message, McpError>,
): Finding[] {
  const { error, principal, messages = [] } = visit
  const asked = messages.filter((message) => 'method' in message)
  const about = (message: (typeof asked)[number]): Named[] =>
    subjectsOf(server.registry, message).map((subject) => ({ method: message.method, ...subject }))

  if (isRefusal(visit, response)) {
    const subjects = asked.slice(0, most).flatMap(about)
    const refusal = found('refused', subjects, error ? whyFrom(error) : whyOf(response))
    return [{ ...refusal, more: refusal.more + Math.max(0, asked.length - most) }]
  }

  const calls = asked.filter(isRequest).flatMap((message) => {
    const limit = refusals.get(message)
    if (limit) return [found('refused', about(message), whyFrom(limit))]
    const privileged = about(message).filter(({ scopes }) => scopes.length > 0)
    const isHeld = (scope: string) => principal?.scopes.includes(scope)
    const held = privileged.filter(({ scopes }) => scopes.every(isHeld))
    // Not every refusal is a response of its own: one message of a batch, one of the URIs to listen to.
    const lacked = privileged.filter((subject) => !held.includes(subject))
    return [
      ...(held.length > 0 ? [found('allowed', held, undefined)] : []),
      ...(lacked.length > 0 ? [found('refused', lacked, whyFrom(insufficientScope(scopesIn(lacked))))] : []),
    ]
  })
  const told = calls.slice(0, most)
  const last = told.at(-1)
  if (last) told[told.length - 1] = { ...last, more: last.more + calls.length - told.length }
  return told

  function found(outcome: Finding['outcome'], subjects: Named[], why: Finding['why']): Finding {
    return {
      outcome,
      why,
      what: subjects.slice(0, most).map(({ method, name, uri }) => ({
        method: write(method),
        ...(name !== undefined && { name: write(name) }),
        ...(uri !== undefined && { uri: write(uri) }),
      })),
      more: Math.max(0, subjects.length - most),
      scopes: scopesIn(subjects).slice(0, most),
    }
  }
}

const scopesIn = (subjects: readonly RawSubject[]) => [...new Set(subjects.flatMap(({ scopes }) => scopes))]
