import { createServer, type Server } from 'edgemcp'

/** Declares the server of a version. */
export function declaredServer(version: '1' | '2'): Server {
  const server = createServer({ name: 'deployed', version })
  server.tool('touch', { description: `Notifies this session, in version ${version}` }, async (_, ctx) => {
    if (ctx.session) await server.notify.promptsChanged({ session: ctx.session.id })
    return 'Done.'
  })
  server.prompt('prompt', { description: 'The same in each version' }, () => '')
  if (version === '2') server.resource('note://1', { description: 'New in version 2' }, () => '')
  return server
}
