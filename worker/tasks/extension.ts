/**
 * The words of the tasks extension.
 *
 * @see https://modelcontextprotocol.io/seps/2663-tasks-extension
 */
import type { Call } from '../engine/call.ts'
import { McpError } from '../protocol/errors.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** Does this request say that its client knows tasks? */
export const knowsTasks = ({ capabilities }: Call): boolean => capabilities.extensions?.[tasksExtension] !== undefined

export const needsTasks = (): McpError =>
  new McpError('missing_client_capability', `This needs a client that supports ${tasksExtension}`, {
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  })

/** Not made here, for somebody else, or lapsed: one answer for all of them. */
export const unknownTask = (): McpError => new McpError('unknown_handle', 'Unknown task')
