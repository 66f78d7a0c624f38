/** Two servers of one Worker, one open and one for few, which have been given the same Durable Object classes by mistake. */
import { createServer, serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'

const open = createServer({ name: 'open', version: '1.0.0' })
open.tool('list', { description: 'Lists notes' }, () => 'no notes')

const guarded = createServer({ name: 'guarded', version: '1.0.0' })
guarded.tool('remove', { description: 'Removes all notes' }, () => 'removed')

const openWorker = serve(open, { plugins: [sessions()] })
const guardedWorker = serve(guarded, { path: '/guarded/mcp', plugins: [sessions()] })

export default combine(openWorker, guardedWorker)
export const { McpSession } = guardedWorker
