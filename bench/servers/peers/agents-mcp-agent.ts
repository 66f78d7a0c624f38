/** `McpAgent` of agents: a server of the first official SDK in a Durable Object for each session. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { McpAgent } from 'agents/mcp'
import * as offer from '../offer.ts'
import * as zod from '../schemas/zod.ts'
import { serverInfo, tools } from '../wire.ts'

const said = (text: string) => ({ content: [{ type: 'text' as const, text }] })

export class BenchAgent extends McpAgent {
  server = new McpServer(serverInfo)

  async init(): Promise<void> {
    const { server } = this
    const { echo, add, greet } = tools
    if (OFFER === 'plain' || OFFER === 'many') {
      server.registerTool(echo.name, { description: echo.description, inputSchema: zod.echo.shape }, ({ text }) => {
        return said(text)
      })
      server.registerTool(add.name, { description: add.description, inputSchema: zod.add.shape }, ({ a, b }) => {
        return said(String(a + b))
      })
      server.registerTool(greet.name, { description: greet.description, inputSchema: zod.greet.shape }, (input) => {
        return said(offer.greeting(input.name))
      })
      const { uri, name, description, mimeType, text } = offer.readme
      server.registerResource(name, uri, { description, mimeType }, ({ href }) => {
        return { contents: [{ uri: href, mimeType, text }] }
      })
    }
    if (OFFER === 'many') {
      for (const { name, description } of offer.greeters) {
        server.registerTool(name, { description, inputSchema: zod.greet.shape }, (input) => {
          return said(offer.greeting(input.name))
        })
      }
    }
    if (OFFER === 'talking') {
      const { count, buy } = offer
      server.registerTool(count.name, { description: count.description }, async (extra) => {
        const progressToken = extra._meta?.progressToken
        for (let progress = 1; progressToken !== undefined && progress <= offer.steps; progress += 1) {
          const pause = offer.pause(progress)
          if (pause) await pause
          const params = { progressToken, progress, total: offer.steps }
          await extra.sendNotification({ method: 'notifications/progress', params })
        }
        return said(offer.counted)
      })
      const config = { description: buy.description, inputSchema: zod.buy.shape }
      server.registerTool(buy.name, config, async ({ item }, { requestId: relatedRequestId }) => {
        const asked = { message: offer.question(item), requestedSchema: offer.consentSchema }
        const answer = await this.elicitInput(asked, { relatedRequestId })
        return said(offer.bought(item, answer.action === 'accept' && answer.content?.sure === true))
      })
    }
    if (OFFER === 'zod') {
      const { name, description } = offer.convert
      const schemas = { inputSchema: zod.temperatures.shape, outputSchema: zod.converted.shape }
      server.registerTool(name, { description, ...schemas }, (input) => {
        const structuredContent = offer.converted(input)
        return { ...said(JSON.stringify(structuredContent)), structuredContent }
      })
    }
  }
}

export default BenchAgent.serve('/mcp', { binding: 'BenchAgent' })
