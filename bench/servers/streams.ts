/** A tool that sends many notifications, and an event log that stores all of them. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'
import { serverInfo } from './wire.ts'

const server = createServer(serverInfo)

server.tool(
  'talk',
  { description: 'Reports progress', inputSchema: z.object({ events: z.number() }) },
  ({ events }, ctx) => {
    for (let step = 1; step <= events; step += 1) ctx.progress(step, events)
    return 'said'
  },
)

const worker = serve(server, { plugins: [sessions({ log: { maxEvents: 1_000_000, maxCharacters: 1_000_000_000 } })] })
export default worker
export const { McpSession } = worker
