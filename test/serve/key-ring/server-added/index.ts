/** A server whose class has the default name is served before the others. */
import { serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import { admin, adminOptions, notes, notesOptions, reports } from '../servers.ts'

const reportsWorker = serve(reports, { path: '/reports', plugins: [sessions()] })
const notesWorker = serve(notes, notesOptions)
const adminWorker = serve(admin, adminOptions)

export default combine(reportsWorker, notesWorker, adminWorker)
export const { McpSession } = reportsWorker
export const { McpSession: NotesSession } = notesWorker
export const { McpSession: AdminSession } = adminWorker
