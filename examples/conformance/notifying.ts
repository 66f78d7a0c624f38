/** Tools with something to say beside their answers: log lines, progress, changed lists, a lost connection. */
import type { Server } from 'edgemcp'

export function notifying(server: Server): void {
  server.tool('test_tool_with_logging', { description: 'Logs three lines while it works' }, async (_, ctx) => {
    ctx.log('info', 'Tool execution started')
    await scheduler.wait(50)
    ctx.log('info', 'Tool processing data')
    await scheduler.wait(50)
    ctx.log('info', 'Tool execution completed')
    return 'Logged three lines'
  })

  server.tool('test_logging_tool', { description: 'Logs one line' }, (_, ctx) => {
    ctx.log('info', 'Called')
    return 'Logged one line'
  })

  server.tool('test_tool_with_progress', { description: 'Reports its progress' }, async (_, ctx) => {
    ctx.progress(0, 100)
    await scheduler.wait(50)
    ctx.progress(50, 100)
    await scheduler.wait(50)
    ctx.progress(100, 100)
    return 'Done, step by step'
  })

  server.tool(
    'test_trigger_tool_change',
    { description: 'Notifies clients that the list of tools changed' },
    async () => {
      await server.notify.toolsChanged()
      return 'Announced'
    },
  )

  server.tool(
    'test_trigger_prompt_change',
    { description: 'Notifies clients that the list of prompts changed' },
    async () => {
      await server.notify.promptsChanged()
      return 'Announced'
    },
  )

  server.tool('test_reconnection', { description: 'Ends the connection before it answers' }, async (_, ctx) => {
    ctx.closeStream({ retryMs: 100 })
    await scheduler.wait(50)
    return 'Answered after the connection ended'
  })
}
