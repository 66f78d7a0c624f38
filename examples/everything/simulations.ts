/** Tools that start and stop simulated log messages and updates of resources. */
import { type Plugin, type Server, toolError } from 'edgemcp'
import { server } from './server.ts'
import { simulationOf } from './simulation.ts'

const annotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false }

export function simulations(server: Server): void {
  server.tool(
    'toggle-simulated-logging',
    {
      title: 'Toggle Simulated Logging',
      description: 'Starts or stops log messages of random levels, every five seconds. They need a session.',
      annotations,
    },
    async (_, { session, once }) => {
      if (!session) return toolError('Your protocol version has no sessions: it allows log messages in calls only.')
      const isRunning = await once('toggle', () => simulationOf(session.id).toggle('logging', session.id))
      if (!isRunning) return `Stopped simulated logging for session ${session.id}`
      const started = `Started simulated, random-leveled logging for session ${session.id} at a 5 second pace.`
      return `${started} Messages below the log level of the session are not sent.`
    },
  )

  server.tool(
    'toggle-subscriber-updates',
    {
      title: 'Toggle Subscriber Updates',
      description: 'Starts or stops updates of the resources that you subscribe to, every five seconds',
      annotations,
    },
    async (_, { session, once }) => {
      const recipient = session ? `session ${session.id}` : 'all clients without session'
      const isRunning = await once('toggle', () => simulationOf(session?.id).toggle('updates', session?.id))
      if (!isRunning) return `Stopped simulated resource updates for ${recipient}`
      return `Started simulated resource updated notifications for ${recipient} at a 5 second pace.`
    },
  )
}

/** Tells the simulations what clients subscribe to, and clients that it was received. */
export const subscribers: Plugin = {
  name: 'subscribers',
  async onSubscribe({ uri, session }) {
    await simulationOf(session?.id).subscribe(uri)
    if (session) await log(`Received Subscribe Resource request for URI: ${uri}`, session.id)
  },
  async onUnsubscribe({ uri, session }) {
    // Other clients without session may have subscribed to the same resource.
    if (!session) return
    await simulationOf(session.id).unsubscribe(uri)
    await log(`Received Unsubscribe Resource request: ${uri}`, session.id)
  },
  async onSessionEnd({ session }) {
    await simulationOf(session.id).end()
  },
}

const log = (text: string, session: string) => server.notify.log('info', `${text} from session ${session}`, { session })
