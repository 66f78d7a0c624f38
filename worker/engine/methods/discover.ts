/** @see https://modelcontextprotocol.io/specification/2026-07-28/server/discover */

import type { Caller } from '../../declarations/caller.ts'
import type { Declarations } from '../../declarations/declarations.ts'
import { supportedVersions } from '../../protocol/revisions/index.ts'
import type { Implementation, ServerCapabilities } from '../../protocol/types.ts'
import type { CallEnvironment } from '../call.ts'
import { hasCompletions } from './completion.ts'
import { uncached } from './lists.ts'
import type { Method } from './method.ts'
import { hasResources } from './resources.ts'

export const discover: Method = {
  offered: () => true,
  async answer(context) {
    const { declarations } = context.server
    const { instructions, caching = uncached } = declarations.options
    return {
      supportedVersions,
      capabilities: capabilitiesOf(declarations, context.environment),
      instructions:
        typeof instructions === 'function' ? await instructionsFor(declarations, context.caller) : instructions,
      ttlMs: caching.ttlMs,
      cacheScope: typeof instructions === 'function' ? 'private' : caching.cacheScope,
    }
  },
}

/** @throws TypeError when the function of the server returns no text */
export async function instructionsFor({ options }: Declarations, caller: Caller): Promise<string | undefined> {
  const { instructions } = options
  if (typeof instructions !== 'function') return instructions
  const returned: unknown = await instructions(caller)
  if (returned === undefined || typeof returned === 'string') return returned
  throw new TypeError(
    `instructions of createServer() returned a value of the type ${typeof returned}: return a string or undefined`,
  )
}

/** Returns the capabilities of this server, which follow from its declarations. */
export function capabilitiesOf(
  declarations: Declarations,
  { updates }: Pick<CallEnvironment, 'updates'>,
): ServerCapabilities {
  // Proxies add the members that are absent.
  const capabilities: ServerCapabilities = { logging: {} }
  if (hasCompletions(declarations)) capabilities.completions = {}
  if (declarations.tools.size > 0) capabilities.tools = { listChanged: updates }
  if (hasResources(declarations)) capabilities.resources = { subscribe: updates, listChanged: updates }
  capabilities.extensions = declarations.extensions
  if (declarations.experimental) capabilities.experimental = declarations.experimental
  if (declarations.prompts.size > 0) capabilities.prompts = { listChanged: updates }
  return capabilities
}

export function implementationOf({ options }: Declarations): Implementation {
  const { name, version, title, description, icons, websiteUrl } = options
  // What is undefined is not sent.
  return { name, version, title, description, icons, websiteUrl }
}
