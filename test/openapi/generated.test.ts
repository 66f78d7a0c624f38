/** A server of operations that were found before it was built. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { bundleOf } from '../support/bundle.ts'
import { startServer, type TestServer } from '../support/server.ts'

const root = resolve(import.meta.dirname, '../..')
let api: Server
let server: TestServer
const heard: (string | undefined)[] = []

beforeAll(async () => {
  api = createServer((request, response) => {
    heard.push(`${request.method} ${request.url} ${request.headers['x-key']}`)
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"Rex"}')
  }).listen(0, '127.0.0.1')
  await once(api, 'listening')
  const API = `http://127.0.0.1:${(api.address() as AddressInfo).port}/v1`
  server = await startServer('test/openapi/generated', { API })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  api.closeAllConnections()
  api.close()
})

test.each(['2026-07-28', '2025-06-18'])(
  'the server has the tools of the generated module for clients of %s',
  async (revision) => {
    await using client = await connect(server.url, { revision })
    const { tools } = (await client.request('tools/list')) as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toEqual(['listPets', 'addPet', 'get_pets_pet_id', 'removePet'])
    expect(await client.callTool('listPets', { 'X-Tenant': 'acme', limit: 3 })).toMatchObject({
      content: [{ text: '{"name":"Rex"}' }],
    })
    expect(heard.at(-1)).toBe('GET /v1/pets?limit=3 secret')
    expect(await client.callTool('listPets', { limit: 0 })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('Invalid arguments for listPets') }],
    })
  },
)

test('a bundle with the generated module does not contain the parser', async () => {
  const bundle = (name: string) =>
    bundleOf({ main: join(root, 'test/openapi', name, 'index.ts'), mode: 'production', define: {}, loader: {} })
  const carries = (text: string) => [
    text.includes('Not an OpenAPI 3.0'),
    text.includes('components/'),
    text.includes('listPets'),
  ]
  expect(carries(await bundle('generated'))).toEqual([false, false, true])
  expect(carries(await bundle('server'))).toEqual([true, true, true])
})
