/** The server of `everything` with a clock that a test can put forward. */
import { withTestClock } from 'edgemcp/testing/timed'
import * as everything from '../../support/everything/index.ts'

const worker = withTestClock(everything)
export default worker.default
export const { McpSession, McpSubscriptions, McpState } = worker
