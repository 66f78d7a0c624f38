import type { Caller } from '../server/caller.ts'
import type { Registry } from '../server/server.ts'
import { isVisible } from './methods/lists.ts'
import { findResource } from './methods/resources.ts'

/** May this caller hear that a resource changed? Only if it may read it. */
export async function mayHear(registry: Registry, caller: Caller, uri: string): Promise<boolean> {
  const found = findResource(registry, uri)
  return found !== undefined && (await isVisible(found.resource, caller))
}
