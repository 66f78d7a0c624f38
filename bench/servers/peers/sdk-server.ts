/** A server of the official SDK, which requires a new one for each request or session. Parts that can be created once are. */
import { acceptedContent, fromJsonSchema, inputRequired, McpServer } from '@modelcontextprotocol/server'
import * as offer from '../offer.ts'
import * as json from '../schemas/json.ts'
import * as valibot from '../schemas/standard-valibot.ts'
import * as zod from '../schemas/zod.ts'
import { serverInfo, tools } from '../wire.ts'

const said = (text: string) => ({ content: [{ type: 'text' as const, text }] })

const ofKind = () => {
  if (OFFER === 'json') {
    const temperatures = fromJsonSchema<offer.Temperatures>(json.temperatures as never)
    return { temperatures, converted: fromJsonSchema<offer.Converted>(json.converted as never) }
  }
  if (OFFER === 'valibot') return valibot as unknown as typeof zod
  return zod
}
const kind = ofKind()

export function createServer(): McpServer {
  const server = new McpServer(serverInfo)
  const { echo, add, greet } = tools
  if (OFFER === 'plain' || OFFER === 'many') {
    server.registerTool(echo.name, { description: echo.description, inputSchema: zod.echo }, ({ text }) => said(text))
    server.registerTool(add.name, { description: add.description, inputSchema: zod.add }, ({ a, b }) => {
      return said(String(a + b))
    })
    server.registerTool(greet.name, { description: greet.description, inputSchema: zod.greet }, ({ name }) => {
      return said(offer.greeting(name))
    })
    const { uri, name, description, mimeType, text } = offer.readme
    server.registerResource(name, uri, { description, mimeType }, ({ href }) => {
      return { contents: [{ uri: href, mimeType, text }] }
    })
  }
  if (OFFER === 'many') {
    for (const { name, description } of offer.greeters) {
      server.registerTool(name, { description, inputSchema: zod.greet }, (input) => said(offer.greeting(input.name)))
    }
  }
  if (OFFER === 'talking') {
    const { count, buy } = offer
    server.registerTool(count.name, { description: count.description }, async (ctx) => {
      const { _meta, notify } = ctx.mcpReq
      const progressToken = _meta?.progressToken
      for (let progress = 1; progressToken !== undefined && progress <= offer.steps; progress += 1) {
        const pause = offer.pause(progress)
        if (pause) await pause
        const params = { progressToken, progress, total: offer.steps }
        await notify({ method: 'notifications/progress', params })
      }
      return said(offer.counted)
    })
    server.registerTool(buy.name, { description: buy.description, inputSchema: zod.buy }, ({ item }, ctx) => {
      const { inputResponses } = ctx.mcpReq
      const consent = acceptedContent(inputResponses, 'consent', zod.consent)
      if (inputResponses && 'consent' in inputResponses) return said(offer.bought(item, consent?.sure === true))
      const elicited = inputRequired.elicit({ message: offer.question(item), requestedSchema: zod.consent })
      return inputRequired({ inputRequests: { consent: elicited } })
    })
  }
  if (OFFER === 'zod' || OFFER === 'valibot' || OFFER === 'json') {
    const { name, description } = offer.convert
    const schemas = { inputSchema: kind.temperatures, outputSchema: kind.converted }
    server.registerTool(name, { description, ...schemas }, (input) => {
      const structuredContent = offer.converted(input)
      return { ...said(JSON.stringify(structuredContent)), structuredContent }
    })
  }
  return server
}
