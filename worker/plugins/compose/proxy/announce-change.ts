import type { MethodContext } from '../../../engine/methods/method.ts'

/** Lists of an upstream whose changes are announced. */
export type AnnouncedList = 'tools' | 'prompts' | 'resources'

/** Notifies subscribers that a list of an upstream has changed: those of the caller's tenant. Without a tenant, everyone may have the same list. */
export function announceChange({ server, call, environment }: MethodContext, list: AnnouncedList): void {
  if (!environment.updates) return
  const { principal } = call
  const recipients = principal?.tenant === undefined ? {} : { issuer: principal.issuer, tenant: principal.tenant }
  const notify = {
    tools: server.notify.toolsChanged,
    prompts: server.notify.promptsChanged,
    resources: server.notify.resourcesChanged,
  }
  notify[list](recipients).catch((problem) => environment.report(problem))
}
