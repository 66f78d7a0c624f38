import type { Revision } from '../revision.ts'
import { rev20251125 } from './2025-11-25.ts'

/**
 * Whether clients of a protocol version may request that a call becomes a task. Older versions have no tasks, newer ones an extension.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
 */
export const hasExperimentalTasks = (revision: Revision): boolean => revision === rev20251125
