/** The server of the long-running checks. */
import { serve } from 'edgemcp'
import { updates } from 'edgemcp/updates'
import { workServer } from './work.ts'

const worker = serve(workServer('1'), { updates: updates({ listenersPerAddress: 10_000 }) })
export default worker
export const { McpSession, McpUpdates } = worker
