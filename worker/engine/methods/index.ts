/**
 * The methods of the protocol, by name. `requires` of a method decides what runs it. `requests` of a `Revision` decides which protocol
 * version has a method: each version lists what it adds and lacks.
 */
import type { Declarations } from '../../declarations/declarations.ts'
import { complete } from './completion.ts'
import { discover } from './discover.ts'
import { initialize } from './initialize.ts'
import { setLevel } from './logging.ts'
import type { Method, ProtocolMethod } from './method.ts'
import { ping } from './ping.ts'
import { getPrompt, listPrompts } from './prompts.ts'
import { listResources, listResourceTemplates, readResource } from './resources.ts'
import { subscribe, unsubscribe } from './subscribe.ts'
import { callTool, listTools } from './tools.ts'

export const methods: Readonly<Record<string, ProtocolMethod | undefined>> = {
  // Without a prototype: a method named "constructor" is not there.
  __proto__: null as never,
  initialize,
  ping,
  'server/discover': discover,
  'tools/list': listTools,
  'tools/call': callTool,
  'resources/list': listResources,
  'resources/templates/list': listResourceTemplates,
  'resources/read': readResource,
  'resources/subscribe': subscribe,
  'resources/unsubscribe': unsubscribe,
  'prompts/list': listPrompts,
  'prompts/get': getPrompt,
  'completion/complete': complete,
  'logging/setLevel': setLevel,
}

/** Returns the method of a plugin or an extension; `undefined` if none has it. */
export const declaredMethod = ({ methods }: Pick<Declarations, 'methods'>, name: string): Method | undefined =>
  // Each is a `Method`: the declarations are below the engine, and do not know the type.
  methods.get(name) as Method | undefined

/** Returns the method of this name if its requests are calls, in whichever protocol version. */
export function callMethod(name: string): Method | undefined {
  const method = methods[name]
  return method && !method.requires ? method : undefined
}
