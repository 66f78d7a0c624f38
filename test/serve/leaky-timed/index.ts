/** The leaky server with a clock that a test can put forward. */
import { withTestClock } from 'edgemcp/testing/timed'
import * as leaky from '../leaky/index.ts'

const worker = withTestClock(leaky)
export default worker.default
export const { McpSession, McpSubscriptions } = worker
