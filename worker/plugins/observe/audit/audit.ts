/** `audit()`: emits events for rejected requests and for calls of entries with scopes: caller, entry, reason. Never arguments or results. */

import { type BackgroundWork, observeWork } from '../../../background-work.ts'
import { checkOptions, type KindsOf } from '../../../declarations/check-options.ts'
import * as kind from '../../../declarations/option-kinds.ts'
import type { Plugin } from '../../../plugin.ts'
import { matchPath } from '../../../protocol/match-path.ts'
import type { AuditHook, IncomingRequest, ServerInfo } from '../../../request-hooks.ts'
import type { AuditEvent, Sink } from './event.ts'
import { type Finding, findingsOf, isRefusal } from './findings.ts'
import { loggedSession, sessionOf, type Write, writer } from './log-text.ts'

/** Configures `audit()`. */
export type AuditOptions = {
  /** Receives the events: one sink, or several. */
  sinks: Sink | readonly Sink[]
  /** Whether events contain the IP address of the client. Default: true. */
  address?: boolean
}

const kinds: KindsOf<AuditOptions> = { sinks: kind.sinks, address: kind.flag }

/**
 * Creates a plugin that emits an event for each rejected request, for each call of an entry with scopes, and for each delivery of an event
 * that has scopes or whose user may not receive it any more. Emits at most 50 events per
 * request, after the response. A sink cannot delay a request or make it fail.
 *
 * @throws Error for an invalid option. The message names the fix
 *
 * @example
 * serve(server, { auth, plugins: [audit({ sinks: [consoleSink(), analyticsEngineSink(() => env.AUDIT)] })] })
 */
export function audit(options: AuditOptions): Plugin {
  checkOptions('audit()', options, kinds)
  const settings = { sinks: [options.sinks].flat(), hasAddress: options.address ?? true }
  const onResponse: AuditHook = (incoming, response, serverInfo) => {
    const emitted = emitEvents(settings, incoming, response, serverInfo)
    serverInfo.waitUntil(emitted.catch((problem) => serverInfo.report(problem)))
  }
  return {
    name: 'audit',
    onResponse,
    provide: (runtime) => {
      observeWork(runtime, async (work) => {
        if (isAudited(work)) await emit(settings, eventOfWork(work), runtime)
      })
      return {}
    },
  }
}

/** Whether a principal was refused what it had been allowed, or received what needs scopes. */
const isAudited = ({ error, scopes }: BackgroundWork): boolean => error?.kind === 'forbidden' || scopes.length > 0

const eventOfWork = ({ method, name, since, error, principal, scopes, details }: BackgroundWork): AuditEvent => ({
  at: new Date(since).toISOString(),
  outcome: error?.kind === 'forbidden' ? 'refused' : 'allowed',
  status: undefined,
  reason: error?.kind === 'forbidden' ? { kind: 'forbidden', message: error.message } : undefined,
  principal: principal && { tenant: undefined, ...principal, client: undefined },
  address: undefined,
  targets: [{ method, name }],
  omitted: 0,
  scopes,
  http: undefined,
  request: undefined,
  session: undefined,
  userAgent: undefined,
  details,
})

type Settings = {
  readonly sinks: readonly Sink[]
  /** Whether events contain the IP address of the client. */
  readonly hasAddress: boolean
}

async function emitEvents(
  settings: Settings,
  incoming: IncomingRequest,
  response: Response,
  serverInfo: ServerInfo,
): Promise<void> {
  const { request } = incoming
  const session = sessionOf(request, serverInfo)
  const write = writer(request, session, serverInfo.auth)
  const at = new Date().toISOString()
  const findings = await findingsIn(incoming, response, serverInfo, write)
  if (findings.length === 0) return
  const circumstances = {
    at,
    status: response.status,
    session: loggedSession(session),
    principal: principalOf(incoming, write),
    address: settings.hasAddress ? write(request.headers.get('CF-Connecting-IP')) : undefined,
    ...requestOf(request, serverInfo, write),
  }
  await Promise.all(
    findings.map(async (finding) => emit(settings, await eventOf(finding, circumstances, write), serverInfo)),
  )
}

async function emit({ sinks }: Settings, event: AuditEvent, { report }: Pick<ServerInfo, 'report'>): Promise<void> {
  await Promise.all(
    sinks.map(async (sink) => {
      try {
        await sink(event)
      } catch (problem) {
        report(problem)
      }
    }),
  )
}

/** Finds what to record of a request. Which messages a limit rejected may be known only after a successful response has started. */
async function findingsIn(
  incoming: IncomingRequest,
  response: Response,
  serverInfo: ServerInfo,
  write: Write,
): Promise<readonly Finding[]> {
  const { refusals } = incoming
  const errors = refusals && !isRefusal(incoming, response) ? await refusals : new Map()
  return findingsOf(incoming, response, serverInfo, write, errors)
}

const principalOf = ({ principal }: IncomingRequest, write: Write): AuditEvent['principal'] =>
  principal && {
    issuer: write(principal.issuer),
    subject: write(principal.subject),
    client: write(principal.client),
    tenant: write(principal.tenant),
  }

function requestOf({ url, method, headers }: Request, { paths }: ServerInfo, write: Write) {
  const { pathname } = new URL(url)
  return {
    // Clients invent other paths.
    http: { method, path: matchPath(pathname, Object.values(paths)) },
    request: write(headers.get('CF-Ray')),
    userAgent: write(headers.get('User-Agent')),
  }
}

async function eventOf(
  { reason: pendingReason, ...finding }: Finding,
  circumstances: Omit<AuditEvent, keyof Finding>,
  write: Write,
): Promise<AuditEvent> {
  const reason = await pendingReason
  return {
    ...circumstances,
    ...finding,
    reason: reason && {
      kind: reason.kind,
      message: write(reason.message) ?? '',
      ...(reason.reason !== undefined && { reason: write(reason.reason) }),
    },
  }
}
