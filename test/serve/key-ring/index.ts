/** No class has the name McpSession. */
import { serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { admin, adminOptions, notes, notesOptions } from './servers.ts'

const notesWorker = serve(notes, notesOptions)
const adminWorker = serve(admin, adminOptions)

export default combine(notesWorker, adminWorker)
export const { McpSession: NotesSession } = notesWorker
export const { McpSession: AdminSession } = adminWorker
