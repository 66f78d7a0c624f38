/** edgemcp, as its README tells to use it. */
import { createServer, serve } from 'edgemcp'
import * as z from 'zod'
import { serverInfo, tools } from './wire.ts'

const server = createServer(serverInfo)

const { echo, add, greet } = tools
server.tool(echo.name, { description: echo.description, input: z.object({ text: z.string() }) }, ({ text }) => text)
server.tool(add.name, { description: add.description, input: z.object({ a: z.number(), b: z.number() }) }, (input) => {
  return String(input.a + input.b)
})
server.tool(greet.name, { description: greet.description, input: z.object({ name: z.string() }) }, ({ name }) => {
  return `Hello, ${name}!`
})

const worker = serve(server)
export default worker
export const { McpSession, McpUpdates } = worker
