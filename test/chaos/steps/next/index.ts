/** The same server, one version later. */
import { stepsWorker, withLosses } from '../worker.ts'

const { worker, ...objects } = stepsWorker('2')

export const { McpSession, McpTask } = objects
export default withLosses(worker)
