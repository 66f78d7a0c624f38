/** edgemcp/tasks: work that outlives every connection. */
export type { TaskOptions } from '../server/tool.ts'
export { type TaskClass, type Tasks, type TasksOptions, tasks } from './tasks.ts'
export { type WorkflowOptions, workflow } from './workflow.ts'
