import { McpError } from '../protocol/errors.ts'
import { progressToken } from '../protocol/meta.ts'
import type { Registry, Server } from '../server/server.ts'
import type { Call, CallEnvironment, Outcome } from './call.ts'
import { openRound } from './context.ts'
import type { Journal } from './journal.ts'
import { methods } from './methods/index.ts'
import type { Method, MethodContext } from './methods/method.ts'
import { insufficientScope, lackedScopes } from './scopes.ts'

/** What answers a call, if this revision has it; an extension's own comes first. */
export const methodOf = (registry: Registry, { method, revision }: Call): Method | undefined =>
  (registry.methods.get(method) as Method | undefined) ?? (revision.requests.has(method) ? methods[method] : undefined)

/**
 * One step of a call: runs it until it is done or needs an answer that nobody has given yet. It never waits for a
 * client, so it needs no session, no stream and no connection; whoever calls it is the loop.
 *
 * @throws McpError for everything the client is to be told as a JSON-RPC error
 */
export async function run(
  server: Server,
  call: Call,
  journal: Journal,
  environment: CallEnvironment,
): Promise<Outcome> {
  const method = methodOf(server.registry, call)
  if (!method?.offered(server.registry, environment))
    throw new McpError('method_not_found', `Method not found: ${call.method}`)
  progressToken(call.params)
  const lacked = await lackedScopes(server.registry, call.principal, call, environment.seals.open)
  if (lacked.length > 0) throw insufficientScope(lacked)
  const round = openRound(call, journal, environment, server.registry.options.jsonSchema)
  const { blocked } = round
  const answer = (context: MethodContext) => method.answer(context).then(round.settle)
  const answered = server.registry.interceptor({ server, call, environment, ...round }, answer)
  return Promise.race([answered.then((done) => ({ done })), blocked]).finally(round.close)
}
