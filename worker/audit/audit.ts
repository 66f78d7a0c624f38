/** Tells of refusals, and of calls of what takes scopes: who, what, why. Never of what was said. */
import type { Audit, Site, Visit } from '../auth/auth.ts'
import { checkOptions, type KindsOf } from '../options/check.ts'
import * as kind from '../options/kinds.ts'
import type { AuditEvent, Sink } from './event.ts'
import { type Finding, findingsOf, isRefusal } from './findings.ts'
import { sessionMark, sessionOf, type Write, writer } from './writing.ts'

export type AuditOptions = {
  /** Where events go: one sink or several. */
  to: Sink | readonly Sink[]
  /** Whether events say which address a request came from. Default true. */
  address?: boolean
}

const kinds: KindsOf<AuditOptions> = { to: kind.sinks, address: kind.flag }

/**
 * At most fifty events a request, each after the response. No sink can hold up a request or make it fail.
 *
 * @example
 * serve(server, { auth, audit: audit({ to: [toLogs(), toAnalytics(() => env.AUDIT)] }) })
 * @throws Error with one sentence that names the fix
 */
export function audit(options: AuditOptions): Audit {
  checkOptions('audit()', options, kinds)
  const { to, address: isAddressTold = true } = options
  const sinks = [to].flat()

  return (visit, response, site) => {
    try {
      const { request } = visit
      const session = sessionOf(request, site)
      const write = writer(request, session)
      const at = new Date().toISOString()
      const tellAll = async (finding: Promise<readonly Finding[]>) => {
        const findings = await finding
        if (findings.length === 0) return
        const mark = await sessionMark(session)
        const circumstances = { at, status: response.status, session: mark, ...circumstancesOf(visit, site, write) }
        await Promise.all(findings.map((finding) => tell(finding, circumstances, site, write)))
      }
      const inBackground = (work: Promise<void>) => site.waitUntil(work.catch((problem) => site.report(problem)))
      const { refusals } = visit
      // Which messages a limit refused may be known only after a response that is no refusal has begun.
      const findings =
        refusals && !isRefusal(visit, response)
          ? refusals.then((known) => findingsOf(visit, response, site, write, known))
          : findingsOf(visit, response, site, write, new Map())
      inBackground(tellAll(findings))
    } catch (problem) {
      site.report(problem)
    }
  }

  function circumstancesOf({ request, principal }: Visit, { paths }: Site, write: Write) {
    const { headers, method } = request
    const { pathname } = new URL(request.url)
    return {
      who: principal && {
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

  async function tell(
    { why: reason, ...finding }: Finding,
    circumstances: Omit<AuditEvent, keyof Finding>,
    site: Site,
    write: Write,
  ): Promise<void> {
    const why = await reason
    const event: AuditEvent = {
      ...circumstances,
      ...finding,
      why: why && {
        kind: why.kind,
        message: write(why.message) as string,
        ...(why.reason !== undefined && { reason: write(why.reason) }),
      },
    }
    await Promise.all(
      sinks.map(async (sink) => {
        try {
          await sink(event)
        } catch (problem) {
          site.report(problem)
        }
      }),
    )
  }
}

kind.mark('factory', audit)
