/** The class that the server names for its sessions is the application's own. */
import { DurableObject } from 'cloudflare:workers'
import { serve } from 'edgemcp'
import { notes } from '../servers.ts'

export default serve(notes, { path: '/notes' })
export class McpSession extends DurableObject {}
