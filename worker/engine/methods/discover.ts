/** @see https://modelcontextprotocol.io/specification/2026-07-28/basic/discovery */

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
  async answer({ server, environment }) {
    const { registry } = server
    return {
      supportedVersions,
      capabilities: capabilitiesOf(registry, environment),
      instructions: registry.options.instructions,
      ...(registry.options.caching ?? uncached),
    }
  },
}

/** What this server can do. Only what is declared works, and the other way round. */
export function capabilitiesOf(
  registry: Declarations,
  { updates }: Pick<CallEnvironment, 'updates'>,
): ServerCapabilities {
  return {
    logging: {},
    ...(hasCompletions(registry) && { completions: {} }),
    ...(registry.tools.size > 0 && { tools: { listChanged: updates } }),
    ...(hasResources(registry) && { resources: { subscribe: updates, listChanged: updates } }),
    extensions: registry.extensions,
    ...(registry.experimental && { experimental: registry.experimental }),
    ...(registry.prompts.size > 0 && { prompts: { listChanged: updates } }),
  }
}

export function implementationOf({ options }: Declarations): Implementation {
  const { name, version, title, description, icons, websiteUrl } = options
  // What is undefined is not sent.
  return { name, version, title, description, icons, websiteUrl }
}
