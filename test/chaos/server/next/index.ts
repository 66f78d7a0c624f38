/** The same server, one version later. */
import { serve } from 'edgemcp'
import { updates } from 'edgemcp/updates'
import { workServer } from '../work.ts'

const server = workServer('2')
server.tool('news', { description: 'Is new in this version' }, () => 'Good news')

const worker = serve(server, { updates: updates({ listenersPerAddress: 10_000 }) })
export default worker
export const { McpSession, McpUpdates } = worker
