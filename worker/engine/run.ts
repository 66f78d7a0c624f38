import { McpError } from '../protocol/errors.ts'
import { progressToken } from '../protocol/meta.ts'
import type { Registry, Server } from '../server/server.ts'
import type { Call, Outcome, World } from './call.ts'
import { openRound } from './context.ts'
import type { Memo } from './memo.ts'
import { methods } from './methods/index.ts'
import type { Asked, Method } from './methods/method.ts'
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
export async function run(server: Server, call: Call, memo: Memo, world: World): Promise<Outcome> {
  const method = methodOf(server.registry, call)
  if (!method?.offered(server.registry, world))
    throw new McpError('method_not_found', `Method not found: ${call.method}`)
  progressToken(call.params)
  const lacked = await lackedScopes(server.registry, call.principal, call, world.seals.open)
  if (lacked.length > 0) throw insufficientScope(lacked)
  const round = openRound(call, memo, world, server.registry.options.jsonSchema)
  const { blocked } = round
  const answer = (asked: Asked) => method.answer(asked).then(round.settle)
  const answered = server.registry.around({ server, call, world, ...round }, answer)
  return Promise.race([answered.then((done) => ({ done })), blocked]).finally(round.close)
}
