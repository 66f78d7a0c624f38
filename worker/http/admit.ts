/** Who makes a request, and whether it may: decided before anything is streamed, run or woken. */
import type { Visit } from '../auth/auth.ts'
import { checked } from '../auth/refusal.ts'
import type { Message } from '../protocol/jsonrpc.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Host } from './host.ts'
import { idOf, refusal } from './refusal.ts'

/** @throws McpError `unauthorized` */
export async function authenticate(request: Request, host: Host, visit: Visit): Promise<Principal | undefined> {
  visit.principal = checked(await host.auth?.authenticate(request, host, visit))
  return visit.principal
}

/** The refusal of messages that this principal may not send. */
export async function refused(messages: readonly Message[], host: Host, visit: Visit): Promise<Response | undefined> {
  visit.messages = messages
  const error = (await host.auth?.refuse?.(visit, host)) ?? (await host.limit?.admit(visit, host))
  if (!error) return undefined
  visit.error = error
  return refusal(error, idOf(messages))
}
