/** Servers of one Worker without `EDGEMCP_KEYS`, which its deployments serve with different session classes. */
import { createServer } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'

const greeting = (name: string) => {
  const server = createServer({ name, version: '1.0.0' })
  server.tool('greet', { description: 'Returns the name of the server' }, () => name)
  return server
}

export const notes = greeting('notes')
export const admin = greeting('admin')
export const reports = greeting('reports')

export const notesOptions = {
  path: '/notes',
  plugins: [sessions()] as const,
  durableObjects: { names: { McpSession: 'NotesSession' } },
}
export const adminOptions = {
  path: '/admin',
  plugins: [sessions()] as const,
  durableObjects: { names: { McpSession: 'AdminSession' } },
}
