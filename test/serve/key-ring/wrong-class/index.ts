/** The class that the server names for its sessions is the application's own. */
import { DurableObject } from 'cloudflare:workers'
import { serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { notes } from '../servers.ts'

export default serve(notes, { path: '/notes', plugins: [sessions()] })
export class McpSession extends DurableObject {}
