/** Tools that start and stop simulated log messages and updates of resources. */
import { type Server, toolError } from 'edgemcp'
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
    async (_, ctx) => {
      if (!ctx.session)
        return toolError('Log messages outside of a call need a session, and your protocol version has none.')
      const isRunning = await ctx.once('toggle', () => simulationOf(ctx.session?.id).toggle('logging', ctx.session?.id))
      if (!isRunning) return `Stopped simulated logging for session ${ctx.session.id}`
      return `Started simulated, random-leveled logging for session ${ctx.session.id} at a 5 second pace. Messages below the log level of the session are not sent.`
    },
  )
}
