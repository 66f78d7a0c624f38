/** Counters that are exact: one Durable Object for each caller, called once for all calls of a POST. */
import type { CallLimit, FullCounter } from '../../../durable-objects/rpc.ts'
import type { ServerInfo } from '../../request-hooks.ts'

type Waiting = {
  readonly calls: (readonly CallLimit[])[]
  readonly taken: Promise<readonly (FullCounter | undefined)[]>
}

/** Calls of one POST that are about to be counted. */
const waiting = new WeakMap<object, Waiting>()

/**
 * Counts one call, together with the others of its POST that are counted at the same moment.
 *
 * @param caller one text for each caller
 */
export async function take(
  serverInfo: Pick<ServerInfo, 'server' | 'counters'>,
  caller: string,
  counted: readonly CallLimit[],
  post: object,
): Promise<FullCounter | undefined> {
  let group = waiting.get(post)
  if (!group) {
    const calls: Waiting['calls'] = []
    group = { calls, taken: takeTogether(serverInfo, caller, calls, post) }
    waiting.set(post, group)
  }
  const index = group.calls.push(counted) - 1
  return (await group.taken)[index]
}

async function takeTogether(
  serverInfo: Pick<ServerInfo, 'server' | 'counters'>,
  caller: string,
  calls: readonly (readonly CallLimit[])[],
  post: object,
): Promise<readonly (FullCounter | undefined)[]> {
  // The other calls of the POST begin in the same turn.
  await undefined
  waiting.delete(post)
  return serverInfo.counters(JSON.stringify([serverInfo.server.registry.options.name, caller])).take(calls)
}
