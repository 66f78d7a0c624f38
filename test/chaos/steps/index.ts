import { stepsWorker, withLosses } from './worker.ts'

const { worker, ...objects } = stepsWorker('1')

export const { McpSession, McpTask } = objects
export default withLosses(worker)
