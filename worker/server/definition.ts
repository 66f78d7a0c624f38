/** Definitions have members with known names only. In deployments, too: otherwise a misspelled member would be ignored in silence. */
import { checkNames } from '../options/check.ts'

export type Declared = 'tool' | 'resource' | 'prompt'

const visibility = ['scopes', 'limit', 'listed', 'enabled', 'initially'] as const
const item = ['title', 'description', 'icons', '_meta'] as const

const members: Readonly<Record<Declared, readonly string[]>> = {
  tool: [...item, 'input', 'output', 'annotations', 'single', 'task', ...visibility],
  resource: [
    'name',
    ...item,
    'mimeType',
    'size',
    'annotations',
    'caching',
    'readable',
    'list',
    'complete',
    ...visibility,
  ],
  prompt: [...item, 'args', 'complete', ...visibility],
}

/** @throws Error for a definition that is no object, and for a member with an unknown name */
export const checkDefinition = (declared: Declared, name: string, definition: unknown): void =>
  checkNames(`${declared} "${name}"`, definition, members[declared])
