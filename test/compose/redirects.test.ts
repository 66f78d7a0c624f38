import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newServer, refusal } from '../engine/stage.ts'
import { nodeProxy } from './node-proxy.ts'

const listening: Server[] = []
async function listen(handler: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(handler).listen(0, '127.0.0.1')
  listening.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

let elsewhere: string
const received: IncomingHttpHeaders[] = []
beforeEach(async () => {
  received.length = 0
  elsewhere = await listen(({ headers }, response) => {
    received.push(headers)
    response.end()
  })
})
afterEach(() => {
  for (const server of listening.splice(0)) server.closeAllConnections()
})

test.each([301, 302, 303, 307, 308])('proxy() does not follow a redirect with status %i', async (status) => {
  const upstream = await listen((_, response) => {
    response.writeHead(status, { Location: `${elsewhere}/collect?key=1` }).end()
  })
  const server = newServer().use(nodeProxy(`${upstream}/mcp`, fetch, { headers: () => ({ 'X-Key': 'secret' }) }))
  expect(await refusal(server, 'tools/call', { name: 'any' })).toMatchObject({
    kind: 'unavailable',
    message: `The server at ${new URL(upstream).host} redirects to ${elsewhere}/collect: proxy() follows no redirects, so give it the URL that answers`,
  })
  expect(received).toEqual([])
})
