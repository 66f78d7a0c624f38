/** The same server, one version later. */
import { serve } from 'edgemcp'
import { subscriptions } from 'edgemcp/subscriptions'
import { workServer } from '../work.ts'

const server = workServer('2')
server.tool('news', { description: 'Is new in this version' }, () => 'Good news')

const worker = serve(server, { plugins: [subscriptions({ listenersPerAddress: 10_000 })] })
export default worker
export const { McpSession, McpSubscriptions } = worker
