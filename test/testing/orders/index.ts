import { withTestClock } from 'edgemcp/testing/timed'
import * as orders from '../../../examples/orders/index.ts'

const worker = withTestClock(orders)
export default worker.default
export const { McpSession, McpEvents } = worker
