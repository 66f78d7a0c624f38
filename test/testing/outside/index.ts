import { timed } from 'edgemcp/testing/timed'
import * as report from '../../../examples/report/index.ts'

const worker = timed(report)
export default worker.default
export const { McpSession, McpUpdates, McpTask, McpState } = worker
