/** How large the call of a task, and a notification about it, may be. */
import type { TaskView } from '../../../durable-objects/task/rpc.ts'
import type { Checked } from '../../declarations/schema.ts'
import { McpError } from '../../protocol/errors.ts'

/** Characters of a call: it is stored as a value, which may have two million bytes. */
const maxCallCharacters = 900_000

/** Characters of a notification about a task. A larger status is only in the response to `tasks/get`. */
const maxNotificationCharacters = 500_000

/**
 * @param input the arguments as the handler receives them; `undefined` if they are those of the call
 * @throws McpError `invalid_params`
 */
export function checkCallSize(call: object, input: Checked | undefined): void {
  if (JSON.stringify(call).length > maxCallCharacters || (input && isTooLong(input))) {
    throw new McpError(
      'invalid_params',
      `The arguments are too long for a task: at most ${maxCallCharacters} characters`,
    )
  }
}

/** Whether the JSON form of a value is too long. Values without one, such as a `bigint`, count as their text. */
const isTooLong = (value: unknown): boolean =>
  (JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? String(member) : member)) ?? '').length >
  maxCallCharacters

/** Returns the error for a notification that is not sent; `undefined` for another one. */
export function notificationSizeError(notification: object, { status, tool = 'unknown' }: TaskView): Error | undefined {
  const { length } = JSON.stringify(notification)
  if (length <= maxNotificationCharacters) return undefined
  return new Error(
    `The status "${status}" of a task of the tool "${tool}" has ${length} characters as a notification, and at most ${maxNotificationCharacters} are sent: subscribed clients must poll tasks/get. Return a reference to large data instead`,
  )
}
