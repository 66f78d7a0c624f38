import type { Role } from './types.ts'

/** Each `Role`. */
export const roles: ReadonlySet<unknown> = new Set<Role>(['user', 'assistant'])
