/** Reads what the requests of all delivery modes have in common: the event, and the arguments of the subscription. */
import type { EventLimits } from '../../../durable-objects/events/events-host.ts'
import type { Replay } from '../../../durable-objects/events/rpc.ts'
import { issuesText } from '../../declarations/schema.ts'
import { readObject, readText } from '../../engine/methods/method.ts'
import type { Runtime } from '../../plugin.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import { McpError } from '../../protocol/errors.ts'
import { holdsScopes, type Principal } from '../../protocol/principal.ts'
import type { Params } from '../../protocol/types.ts'
import type { DeclaredEvent } from './event.ts'

/** Characters of the arguments of a subscription: the object of an event has those of all subscriptions. */
const maxArgumentCharacters = 4096

/** Codes of the errors of events. */
export const codes = {
  not_found: -32011,
  forbidden: -32012,
  exhausted: -32013,
  unsupported: -32014,
  callback: -32015,
} as const

/**
 * An error of a method of events, with a code of its own.
 *
 * @see https://github.com/modelcontextprotocol/modelcontextprotocol/pull/3415
 */
export class EventError extends McpError {
  override readonly ownCode: number

  constructor(what: keyof typeof codes, message: string, data?: unknown) {
    super('invalid_params', message, data)
    this.ownCode = codes[what]
  }
}

export type DeclaredEvents = ReadonlyMap<string, DeclaredEvent>

export const isPermitted = async (
  { scopes, visibleTo }: DeclaredEvent,
  principal: Principal | undefined,
): Promise<boolean> =>
  holdsScopes(principal?.scopes, scopes) && (!visibleTo || (await visibleTo({ principal })) === true)

/** The events of an endpoint. */
export type Served = {
  readonly all: DeclaredEvents
  readonly limits: EventLimits
  readonly runtime: Runtime
}

/** Returns the scopes of the event that a request names. Those of one that is not visible to everyone would reveal it. */
export function scopesOf(all: DeclaredEvents, { name }: Params): readonly string[] {
  const found = typeof name === 'string' ? all.get(name) : undefined
  return found && !found.visibleTo ? found.scopes : []
}

/** Returns the event that a request names, and its arguments as JSON in one spelling. @throws McpError */
export async function readEvent(
  all: DeclaredEvents,
  params: Params,
  principal: Principal | undefined,
): Promise<{ readonly declared: DeclaredEvent; readonly args: string }> {
  const name = readText(params, 'name')
  const args = readArguments(params)
  const declared = all.get(name)
  if (!declared || !(await isPermitted(declared, principal)))
    throw new EventError('not_found', `Unknown event: ${name}`, { kind: 'event' })
  await checkArguments(declared, JSON.parse(args))
  return { declared, args }
}

/** Returns the arguments as JSON in one spelling. @throws McpError for what all subscriptions together could not be read with */
export function readArguments(params: Params): string {
  const args = canonicalJson(readObject(params, 'arguments'))
  if (args.length > maxArgumentCharacters)
    throw new McpError('invalid_params', `params.arguments has more than ${maxArgumentCharacters} characters of JSON`)
  if (/(?:^|[:,[])-?Infinity/.test(args.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')))
    throw new McpError('invalid_params', 'params.arguments has a number beyond the largest one')
  return args
}

/** Arguments are part of the identity of a subscription, so they are validated and not transformed. */
async function checkArguments({ name, input }: DeclaredEvent, args: Params): Promise<void> {
  if (!input) {
    const [first] = Object.keys(args)
    if (first === undefined) return
    throw new McpError('invalid_params', `The event "${name}" takes no arguments: remove "${first}"`)
  }
  const checked = await input.check(args)
  if ('issues' in checked)
    throw new McpError('invalid_params', `Invalid arguments for event "${name}": ${issuesText(checked.issues)}`)
}

/** Reads where a client begins. A cursor of another server is one that the log does not have, and no error. @throws McpError */
export function readReplay({ cursor, maxAgeMs }: Params): Replay {
  if (cursor !== undefined && cursor !== null && typeof cursor !== 'string')
    throw new McpError('invalid_params', 'cursor must be a string or null')
  if (maxAgeMs !== undefined && !(typeof maxAgeMs === 'number' && maxAgeMs >= 0))
    throw new McpError('invalid_params', 'maxAgeMs must be a number of 0 or more')
  const after = typeof cursor === 'string' ? (/^\d{1,16}$/.test(cursor) ? Number(cursor) : -1) : undefined
  return { after, maxAgeMs }
}
