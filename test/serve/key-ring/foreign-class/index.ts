/** The class McpSession is the application's own. */
import { DurableObject } from 'cloudflare:workers'
import { serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { admin, adminOptions, notes, notesOptions } from '../servers.ts'

const notesWorker = serve(notes, notesOptions)
const adminWorker = serve(admin, adminOptions)

export default combine(notesWorker, adminWorker)
export const { McpSession: NotesSession } = notesWorker
export const { McpSession: AdminSession } = adminWorker
export class McpSession extends DurableObject {}
