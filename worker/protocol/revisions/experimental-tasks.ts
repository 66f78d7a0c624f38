import type { Revision } from '../revision.ts'
import { rev20251125 } from './2025-11-25.ts'

/**
 * May a client of this revision ask for a call to become a task? Older ones have no tasks, newer ones an extension.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
 */
export const hasExperimentalTasks = (revision: Revision): boolean => revision === rev20251125
