/**
 * Replaces worker/engine/run.ts: a step that always ends with a result. It opens no round, so nothing waits beside the handler
 * for an input response. Its context is empty, for handlers that use their input only.
 */

import type { Context } from '../../worker/declarations/context.ts'
import type { ResultOutcome } from '../../worker/declarations/outcome.ts'
import type { Server } from '../../worker/declarations/server.ts'
import type { Call, CallEnvironment } from '../../worker/engine/call.ts'
import { callerContextOf } from '../../worker/engine/caller.ts'
import type { Journal } from '../../worker/engine/journal.ts'
import type { Target } from '../../worker/engine/methods/method.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { progressToken } from '../../worker/protocol/meta.ts'

/** Nothing is sent before the handler returns. */
const never = new Promise<never>(() => {})

export async function run(
  server: Server,
  call: Call,
  _journal: Journal,
  environment: CallEnvironment,
  target: Target,
): Promise<ResultOutcome> {
  const method = target.callIn(call.revision)
  if (!method?.offered(server.declarations, environment))
    throw new McpError('method_not_found', `Method not found: ${call.method}`)
  progressToken(call.params)
  const { principal, session, client } = call
  const context = { principal, session, client } as Context
  const caller = callerContextOf(call, environment)
  return {
    type: 'result',
    result: await method.answer({ server, call, target, caller, environment, context, roundEnded: never }),
  }
}

export const runCall = run
