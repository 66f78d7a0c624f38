/** The server of the long-running checks. */
import { serve } from 'edgemcp'
import { subscriptions } from 'edgemcp/subscriptions'
import { workServer } from './work.ts'

const worker = serve(workServer('1'), { plugins: [subscriptions({ listenersPerAddress: 10_000 })] })
export default worker
export const { McpSession, McpSubscriptions } = worker
