/** edgemcp/tasks: Run tools as tasks, which continue without a connection. */
export type { TaskOptions } from '../../declarations/tool.ts'
export { runWorkflow, type WorkflowOptions } from './run-workflow.ts'
export { type TaskClass, tasks } from './tasks.ts'
