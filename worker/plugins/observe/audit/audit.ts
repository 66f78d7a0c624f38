/** Tells of refusals, and of calls of what takes scopes: who, what, why. Never of what was said. */

import { checkOptions, type KindsOf } from '../../../declarations/check-options.ts'
import * as kind from '../../../declarations/option-kinds.ts'
import type { Plugin } from '../../../plugin.ts'
import type { AuditHook, IncomingRequest, ServerInfo } from '../../../request-hooks.ts'
import type { AuditEvent, Sink } from './event.ts'
import { type Finding, findingsOf, isRefusal } from './findings.ts'
import { sessionMark, sessionOf, type Write, writer } from './writing.ts'

export type AuditOptions = {
  /** Where events go: one sink or several. */
  sinks: Sink | readonly Sink[]
  /** Whether events say which address a request came from. Default true. */
  address?: boolean
}

const kinds: KindsOf<AuditOptions> = { sinks: kind.sinks, address: kind.flag }

/**
 * At most fifty events a request, each after the response. No sink can hold up a request or make it fail.
 *
 * @example
 * serve(server, { auth, plugins: [audit({ sinks: [consoleSink(), analyticsEngineSink(() => env.AUDIT)] })] })
 * @throws Error with one sentence that names the fix
 */
export function audit(options: AuditOptions): Plugin {
  checkOptions('audit()', options, kinds)
  const { address: isAddressTold = true } = options
  const sinks = [options.sinks].flat()

  const onResponse: AuditHook = (incoming, response, serverInfo) => {
    try {
      const { request } = incoming
      const session = sessionOf(request, serverInfo)
      const write = writer(request, session)
      const at = new Date().toISOString()
      const tellAll = async (finding: Promise<readonly Finding[]>) => {
        const findings = await finding
        if (findings.length === 0) return
        const mark = await sessionMark(session)
        const circumstances = {
          at,
          status: response.status,
          session: mark,
          ...circumstancesOf(incoming, serverInfo, write),
        }
        await Promise.all(findings.map((finding) => emit(finding, circumstances, serverInfo, write)))
      }
      const inBackground = (work: Promise<void>) =>
        serverInfo.waitUntil(work.catch((problem) => serverInfo.report(problem)))
      const { refusals } = incoming
      // Which messages a limit refused may be known only after a response that is no refusal has begun.
      const findings =
        refusals && !isRefusal(incoming, response)
          ? refusals.then((errors) => findingsOf(incoming, response, serverInfo, write, errors))
          : findingsOf(incoming, response, serverInfo, write, new Map())
      inBackground(tellAll(findings))
    } catch (problem) {
      serverInfo.report(problem)
    }
  }
  return { name: 'audit', onResponse }

  function circumstancesOf({ request, principal }: IncomingRequest, { paths }: ServerInfo, write: Write) {
    const { headers, method } = request
    const { pathname } = new URL(request.url)
    return {
      principal: principal && {
        issuer: write(principal.issuer),
        subject: write(principal.subject),
        client: write(principal.client),
        tenant: write(principal.tenant),
      },
      address: isAddressTold ? write(headers.get('CF-Connecting-IP')) : undefined,
      // Others are made up by whoever asks for them.
      http: { method, path: Object.values(paths).includes(pathname) ? pathname : undefined },
      request: write(headers.get('CF-Ray')),
      userAgent: write(headers.get('User-Agent')),
    }
  }

  async function emit(
    { reason: pendingReason, ...finding }: Finding,
    circumstances: Omit<AuditEvent, keyof Finding>,
    serverInfo: ServerInfo,
    write: Write,
  ): Promise<void> {
    const reason = await pendingReason
    const event: AuditEvent = {
      ...circumstances,
      ...finding,
      reason: reason && {
        kind: reason.kind,
        message: write(reason.message) ?? '',
        ...(reason.reason !== undefined && { reason: write(reason.reason) }),
      },
    }
    await Promise.all(
      sinks.map(async (sink) => {
        try {
          await sink(event)
        } catch (problem) {
          serverInfo.report(problem)
        }
      }),
    )
  }
}
