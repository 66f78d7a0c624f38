/** The pause before a status notification of a task, which may not have been delivered, is sent again. */
import type { TaskRecord } from './task-store.ts'

/** Milliseconds until the first redelivery. */
const firstRedeliveryMs = 10_000
/** Milliseconds between two redeliveries, at most. */
const maxRedeliveryMs = 60 * 60_000

/** Milliseconds since 1970: when a status that may not have been delivered is delivered again. Each pause is twice the one before. */
export const redeliveryOf = ({ undelivered }: TaskRecord): number =>
  undelivered === undefined
    ? Number.POSITIVE_INFINITY
    : Date.now() + Math.min(firstRedeliveryMs * 2 ** undelivered, maxRedeliveryMs)
