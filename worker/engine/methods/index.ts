/** Every method a client may call on the registry. One that is absent is `-32601`. */
import { complete } from './completion.ts'
import { discover } from './discover.ts'
import type { Method } from './method.ts'
import { getPrompt, listPrompts } from './prompts.ts'
import { listResources, listResourceTemplates, readResource } from './resources.ts'
import { callTool, listTools } from './tools.ts'

export const methods: Readonly<Record<string, Method | undefined>> = {
  // Without a prototype: a method named "constructor" is not there.
  __proto__: null as never,
  'server/discover': discover,
  'tools/list': listTools,
  'tools/call': callTool,
  'resources/list': listResources,
  'resources/templates/list': listResourceTemplates,
  'resources/read': readResource,
  'prompts/list': listPrompts,
  'prompts/get': getPrompt,
  'completion/complete': complete,
}
