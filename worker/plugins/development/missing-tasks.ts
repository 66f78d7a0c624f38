import type { Declarations } from '../../declarations/declarations.ts'
import { migrationFor } from './migration.ts'

/** Warns of tools with the option `task` on an endpoint without `tasks()`. */
export function warnOfMissingTasks({ tools }: Declarations): void {
  const names = [...tools].flatMap(([name, { task }]) => (task ? [`"${name}"`] : []))
  if (names.length === 0) return
  console.warn(
    `edgemcp runs ${names.join(', ')} without tasks, so clients wait for the result. ` +
      `Add tasks() of "edgemcp/tasks" to the plugins of serve(), export its class as in\n\nexport const { McpSession, McpTask } = worker\n\nand ${migrationFor(['McpTask'])}`,
  )
}
