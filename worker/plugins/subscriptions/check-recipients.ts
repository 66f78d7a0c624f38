/** Validates the arguments of `server.notify`: a wrong recipient must not become everyone. */
import { checkNames, checkObject, checkValue, isPlain, type Kind } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import { checkLog } from '../../engine/check-log.ts'
import type { Recipients, ServerEvent, SessionRecipients, TopicRecipients } from '../../protocol/changes.ts'
import { readNonce } from '../../sealing/seal.ts'

const owner = 'the recipients of server.notify'
const examples = '{ issuer, tenant }, { user: ctx.principal }, { session: ctx.session.id } or ctx.principal'

/**
 * Returns recipients. A principal selects its tenant or, without a tenant, its user, whatever members it has besides.
 *
 * @throws Error for recipients of another shape
 */
export function readRecipients(recipients: Recipients): TopicRecipients | SessionRecipients {
  checkRecipients(recipients)
  if (!('scopes' in recipients)) return recipients
  const { issuer, tenant, subject } = recipients
  return tenant === undefined ? { user: { issuer, subject } } : { issuer, tenant }
}

function checkRecipients(recipients: unknown): void {
  checkObject('server.notify', 'recipients', recipients, examples)
  if ('user' in recipients) return checkUser(recipients)
  if ('session' in recipients) return checkSession(recipients)
  if ('scopes' in recipients) {
    // Members besides those of a principal are allowed.
    checkValue(owner, 'issuer', recipients.issuer, kind.name)
    checkValue(owner, 'subject', recipients.subject, kind.name)
    if (recipients.tenant !== undefined) checkValue(owner, 'tenant', recipients.tenant, kind.name)
    return
  }
  // A Map, or a promise that was not awaited, has no members of its own, as has {}.
  checkValue('server.notify', 'recipients', recipients, [isPlain, examples])
  checkNames(owner, recipients, ['issuer', 'tenant', 'user', 'client', 'session'])
  const { client, issuer, tenant } = recipients
  if (issuer !== undefined) checkValue(owner, 'issuer', issuer, kind.name)
  if (tenant !== undefined) checkValue(owner, 'tenant', tenant, kind.name)
  if (issuer !== undefined && tenant === undefined) {
    throw new Error(
      `The recipients of server.notify have an issuer without a tenant: pass { issuer, tenant } or { user }, or no recipients for everyone`,
    )
  }
  if (issuer === undefined && tenant === undefined && Object.keys(recipients).length > 0 && client === undefined) {
    throw new Error(
      'The recipients of server.notify have an issuer and a tenant that are undefined: pass {} or no recipients for everyone',
    )
  }
  if (client === undefined) return
  throw new Error(`"client" of ${owner} needs a user: pass { user: ctx.principal, client: ctx.principal.client }`)
}

function checkUser(recipients: object): void {
  checkNames(owner, recipients, ['user', 'client'])
  const { user, client } = recipients
  checkObject(owner, 'user', user, 'a user such as { issuer, subject, tenant }, or ctx.principal')
  checkValue(owner, 'user.issuer', user.issuer, kind.name)
  checkValue(owner, 'user.subject', user.subject, kind.name)
  if (user.tenant !== undefined) checkValue(owner, 'user.tenant', user.tenant, kind.name)
  if (client !== undefined) checkValue(owner, 'client', client, kind.name)
}

const sessionId: Kind = [
  (value) => typeof value === 'string' && /^[\w-]{16}$/.test(readNonce(value) ?? value),
  'a session id, such as ctx.session.id',
]

function checkSession(recipients: object): void {
  checkNames(owner, recipients, ['session'])
  checkValue(owner, 'session', recipients.session, sessionId)
}

const uriKind: Kind = [
  (value) => typeof value === 'string' && /^[a-z][a-z\d+.-]*:/i.test(value),
  'a URI with a scheme, such as note://1',
]

/** @throws Error for a value that is no URI */
export function checkUri(method: string, uri: unknown): asserts uri is string {
  checkValue(method, 'uri', uri, uriKind)
}

/**
 * Returns the event, with the data of a log message as JSON has it.
 *
 * @throws Error for an invalid elicitation id, an unknown level, for data without a JSON form, and for recipients that the notification
 * cannot have
 */
export function readEvent(event: ServerEvent, recipients: Recipients): ServerEvent {
  if ('resource' in event) checkUri('server.notify.resourceUpdated()', event.resource)
  if ('method' in event && event.method === 'notifications/elicitation/complete') {
    const complete = 'server.notify.elicitationComplete()'
    checkValue(complete, 'elicitationId', event.params.elicitationId, kind.name)
    if ('session' in recipients) return event
    throw new Error(`${complete} needs the session that received the elicitation: pass { session: ctx.session.id }`)
  }
  if (!('method' in event) || event.method !== 'notifications/message') return event
  const { level, logger, data } = event.params
  const log = 'server.notify.log()'
  const json = checkLog(log, level, data, logger)
  if (!('user' in recipients || 'session' in recipients)) {
    throw new Error(`${log} sends to a user or a session: pass { user: ctx.principal } or { session: ctx.session.id }`)
  }
  return { ...event, params: { ...event.params, data: JSON.parse(json) } }
}
