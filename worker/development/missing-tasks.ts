import type { Registry } from '../server/server.ts'
import { migrationFor } from './migration.ts'

/** Tells of tools that are to be tasks, on a server that has none. */
export function warnOfMissingTasks({ tools, methods }: Registry): void {
  const names = [...tools].flatMap(([name, { task }]) => (task ? [`"${name}"`] : []))
  if (names.length === 0 || methods.has('tasks/get')) return
  console.warn(
    `edgemcp runs ${names.join(', ')} as any other tool, and without ctx.sleep: there are no tasks. ` +
      `Add to it\n\nexport const { McpTask } = tasks(server) // of "edgemcp/tasks"\n\nand ${migrationFor(['McpTask'])}`,
  )
}
