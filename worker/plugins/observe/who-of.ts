import type { Principal } from '../../protocol/principal.ts'
import type { Who } from './event.ts'

/** The members of a principal that events have. */
export const whoOf = (principal: Principal | undefined): Who | undefined =>
  principal && {
    issuer: principal.issuer,
    subject: principal.subject,
    client: principal.client,
    tenant: principal.tenant,
  }
