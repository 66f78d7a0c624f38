import { withTestClock } from 'edgemcp/testing/timed'
import * as report from '../../../examples/report/index.ts'

const worker = withTestClock(report)
export default worker.default
export const { McpSession, McpSubscriptions, McpTask, McpState } = worker
