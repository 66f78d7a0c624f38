/** Definitions have members with known names only. In deployments, too: otherwise a misspelled member would be ignored in silence. */
import { checkNames, preview } from './check-options.ts'

export type Declared = 'tool' | 'resource' | 'prompt'

const visibility = ['scopes', 'rateLimit', 'listWithoutScopes', 'visibleTo', 'enabled'] as const
const item = ['title', 'description', 'icons', '_meta'] as const

const members: Readonly<Record<Declared, readonly string[]>> = {
  tool: [...item, 'inputSchema', 'outputSchema', 'annotations', 'singleUse', 'task', ...visibility],
  resource: [
    'name',
    ...item,
    'mimeType',
    'size',
    'annotations',
    'caching',
    'authorize',
    'list',
    'complete',
    ...visibility,
  ],
  prompt: [...item, 'argsSchema', 'complete', ...visibility],
}

/** @throws Error for a definition that is no object, a member with an unknown name, and an `enabled` that is no boolean */
export function checkDefinition(declared: Declared, name: string, definition: unknown): void {
  const owner = `${declared} "${name}"`
  checkNames(owner, definition, members[declared])
  const { enabled } = definition as { readonly enabled?: unknown }
  if (enabled === undefined || typeof enabled === 'boolean') return
  // In deployments, too: a function that was ignored here would show the entry to every caller.
  throw new Error(
    `"enabled" of ${owner} must be true or false, not ${preview(enabled)}: to decide by caller, write visibleTo`,
  )
}
