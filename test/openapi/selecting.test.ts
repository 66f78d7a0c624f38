/** The options `tools`, `include` and `exclude` of openApiTools(). */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type OpenApiToolsOptions, openApiTools, parseOpenApi } from '../../worker/plugins/openapi/index.ts'
import { newServer, refusal, result, textOf } from '../engine/stage.ts'

const operation = (operationId: string) => ({ operationId, summary: 'd' })
const pets = parseOpenApi({
  openapi: '3.1.0',
  paths: {
    '/pets': { get: operation('listPets'), post: operation('addPet') },
    '/admin': { get: operation('adminGet'), post: operation('adminReset') },
  },
})

let api: Server
let body: string
beforeEach(async () => {
  body = '{"pets":["Rex"]}'
  api = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1')
  await once(api, 'listening')
})
afterEach(() => void api.close())
const serverOf = (options: Partial<OpenApiToolsOptions>) => {
  const baseUrl = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
  return newServer().use(openApiTools(pets, { baseUrl, prefix: 'p_', ...options }))
}
const listOf = async (options: Partial<OpenApiToolsOptions>) =>
  (await result(serverOf(options), 'tools/list')).tools as Record<string, unknown>[]

test('operations are included and excluded by names and patterns', async () => {
  const names = (await listOf({ include: ['list*', 'admin*'], exclude: ['adminReset'] })).map(({ name }) => name)
  expect(names).toEqual(['p_listPets', 'p_adminGet'])
})

test('names have at most 64 characters with their prefix, which APIs of models accept, and do not collide', async () => {
  const prefix = `${'p'.repeat(60)}_`
  const names = (await listOf({ prefix })).map(({ name }) => String(name))
  expect(new Set(names).size).toBe(4)
  for (const name of names) expect(name).toMatch(/^p{20}[\w.-]{0,44}$/)
  // The same in each Worker, whatever else it has.
  expect((await listOf({ prefix, include: ['addPet'] })).map(({ name }) => name)).toEqual([names[1]])
  const baseUrl = 'https://api.example'
  const mounted = newServer().use(openApiTools(pets, { baseUrl, prefix }), { prefix: 'outer_' })
  const outer = (await result(mounted, 'tools/list')).tools as { name: string }[]
  for (const { name } of outer) expect(name).toMatch(/^outer_p[\w.-]{1,57}$/)
  expect(textOf(await result(serverOf({ prefix }), 'tools/call', { name: names[0] }))).toBe(body)
})

test('a tool is renamed and described, and its access is decided for itself', async () => {
  const tools = {
    listPets: { name: 'pets', title: 'Pets', description: 'All pets', annotations: { openWorldHint: false } },
    addPet: { scopes: ['write'] },
    adminGet: { visibleTo: () => false },
  }
  const server = serverOf({ tools, scopes: [] })
  const listed = (await result(server, 'tools/list')).tools as Record<string, unknown>[]
  expect(listed.map(({ name }) => name)).toEqual(['p_pets', 'p_adminReset'])
  expect(listed[0]).toMatchObject({
    title: 'Pets',
    description: 'All pets',
    annotations: { readOnlyHint: true, openWorldHint: false },
  })
  expect(textOf(await result(server, 'tools/call', { name: 'p_pets' }))).toBe(body)
  expect(await refusal(server, 'tools/call', { name: 'p_listPets' })).toMatchObject({ kind: 'invalid_params' })
  expect(await refusal(server, 'tools/call', { name: 'p_addPet' })).toMatchObject({ kind: 'insufficient_scope' })
  expect(await refusal(server, 'tools/call', { name: 'p_adminGet' })).toMatchObject({ kind: 'invalid_params' })
})

test('outputSchema turns the response into validated structured content', async () => {
  const outputSchema = { type: 'object', properties: { pets: { type: 'array' } }, required: ['pets'] }
  const server = serverOf({ tools: { listPets: { outputSchema } } })
  const call = { name: 'p_listPets' }
  expect(await result(server, 'tools/call', call)).toMatchObject({
    structuredContent: { pets: ['Rex'] },
    content: [{ type: 'text', text: body }],
  })
  body = '{"cats":[]}'
  expect(
    await result(server, 'tools/call', call).catch((error) => ({ isError: error instanceof Error })),
  ).toMatchObject({
    isError: true,
  })
  body = '[]'
  expect(textOf(await result(server, 'tools/call', call))).toContain('without a JSON object')
})

test.each([
  [{ tools: { listPet: {} } }, 'openApiTools(): "tools" names "listPet", which no operation has'],
  [{ exclude: ['admin_*'] }, 'openApiTools(): "exclude" names "admin_*", which no operation has'],
  [{ include: 'listPets' }, '"include" of openApiTools() must be a list of strings'],
])('%j is refused', (options, message) => {
  expect(() => serverOf(options as object)).toThrow(message)
})
