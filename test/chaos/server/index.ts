/** The server of the long-running checks. */
import { serve } from 'edgemcp'
import { workServer } from './work.ts'

const worker = serve(workServer('1'))
export default worker
export const { McpSession, McpUpdates } = worker
