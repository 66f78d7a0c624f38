/** A server whose class has the default name is served after the others. */
import { serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import { admin, adminOptions, notes, notesOptions, reports } from '../servers.ts'

const notesWorker = serve(notes, notesOptions)
const adminWorker = serve(admin, adminOptions)
const reportsWorker = serve(reports, { path: '/reports', plugins: [sessions()] })

export default combine(notesWorker, adminWorker, reportsWorker)
export const { McpSession: NotesSession } = notesWorker
export const { McpSession: AdminSession } = adminWorker
export const { McpSession } = reportsWorker
