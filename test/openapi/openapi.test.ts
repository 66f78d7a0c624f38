import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseOpenApi } from '../../worker/plugins/openapi/index.ts'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { statelessHeaders } from '../support/stateless.ts'
import pets from './pets.json' with { type: 'json' }

type Json = Record<string, unknown>
type Heard = { method: string | undefined; url: string | undefined; headers: Json; body: string }

describe('an OpenAPI document', () => {
  const all = parseOpenApi(pets)
  const named = (name: string) => all.find((operation) => operation.name === name)

  test('gives operations by id or by method and path, without those that do not accept JSON', () => {
    expect(all.map(({ name, method, path }) => [name, method, path])).toEqual([
      ['listPets', 'GET', '/pets'],
      ['addPet', 'POST', '/pets'],
      ['get_pets_pet_id', 'GET', '/pets/{pet id}'],
      ['removePet', 'DELETE', '/pets/{pet id}'],
    ])
    expect(all.map(({ description }) => description)).toEqual([
      'Lists pets',
      'Adds a pet',
      'GET /pets/{pet id}',
      'DELETE /pets/{pet id}',
    ])
    expect(named('removePet')?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true })
    expect(named('listPets')?.annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false })
  })

  test('gives the arguments as JSON Schema, and the place of each', () => {
    expect(named('listPets')?.input).toEqual({
      type: 'object',
      properties: {
        'X-Tenant': { type: 'string' },
        tag: { type: 'array', items: { type: 'string' }, description: 'Any of these' },
        limit: { type: 'integer', exclusiveMinimum: 0 },
      },
      required: ['X-Tenant'],
      additionalProperties: false,
    })
    expect(named('get_pets_pet_id')?.parameters).toEqual({
      pet_id: { in: 'path', name: 'pet id' },
      query_pet_id: { in: 'query', name: 'pet id' },
    })
  })

  test('gives each operation the schemas that it refers to, including recursive ones', () => {
    expect(named('addPet')?.input).toEqual({
      type: 'object',
      properties: { 'X-Tenant': { type: 'string' }, body: { $ref: '#/$defs/Pet' } },
      required: ['X-Tenant', 'body'],
      additionalProperties: false,
      $defs: {
        Pet: {
          type: 'object',
          required: ['name'],
          properties: {
            name: { type: ['string', 'null'] },
            example: { type: 'string' },
            owner: { $ref: '#/$defs/Owner' },
          },
        },
        Owner: { type: 'object', properties: { pets: { type: 'array', items: { $ref: '#/$defs/Pet' } } } },
      },
    })
  })

  test.each<[string, unknown, string]>([
    [
      'a text',
      'openapi: 3.1.0',
      'Not an OpenAPI 3.0, 3.1 or 3.2 document: its "openapi" must be a version such as "3.1.0"',
    ],
    ['an older version', { swagger: '2.0' }, 'Not an OpenAPI 3.0, 3.1 or 3.2 document'],
    [
      'a reference without a target',
      { openapi: '3.1.0', paths: { '/a': { get: { parameters: [{ $ref: '#/components/parameters/X' }] } } } },
      'GET /a refers to #/components/parameters/X, which is not in the document',
    ],
    [
      'a reference to elsewhere',
      { openapi: '3.1.0', paths: { '/a': { get: { parameters: [{ $ref: 'https://other.example/x' }] } } } },
      'GET /a refers to https://other.example/x, which is not in the document',
    ],
    [
      'a circle',
      {
        openapi: '3.1.0',
        paths: { '/a': { get: { parameters: [{ $ref: '#/components/parameters/X' }] } } },
        components: { parameters: { X: { $ref: '#/components/parameters/X' } } },
      },
      'The references of GET /a are circular',
    ],
    [
      'two with the same name',
      { openapi: '3.1.0', paths: { '/a': { get: { operationId: 'x' }, put: { operationId: 'x' } } } },
      'Two operations have the name "x": change the operationId of one',
    ],
  ])('that is %s is refused', (_, document, message) => {
    expect(() => parseOpenApi(document)).toThrow(message)
  })
})

describe('tools of a document', () => {
  let api: Server
  let server: TestServer
  let client: TestClient
  const heard: Heard[] = []
  beforeAll(async () => {
    api = createServer(async (request, response) => {
      const { method, url, headers } = request
      heard.push({ method, url, headers, body: await text(request) })
      const status = /^\/v1\/pets\/large-(\d+)$/.exec(url ?? '')?.[1]
      if (status) return void response.writeHead(Number(status)).end(' '.repeat(17 * 1024 * 1024))
      if (method === 'DELETE') return void response.writeHead(403).end('{"problem":"Not yours"}')
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"Rex"}')
    }).listen(0, '127.0.0.1')
    await once(api, 'listening')
    const base = `http://127.0.0.1:${(api.address() as AddressInfo).port}/v1/`
    server = await startServer('test/openapi/server', { API: base })
    client = await connect(server.url, { revision: '2026-07-28' })
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    api.closeAllConnections()
    api.close()
  })

  test('send their arguments in the right place, and return the response', async () => {
    const listed = await client.callTool('pets_listPets', { 'X-Tenant': 'acme', tag: ['a b', 'c&d'], limit: 3 })
    expect(listed).toMatchObject({ content: [{ text: '{"name":"Rex"}' }] })
    expect(heard.at(-1)).toMatchObject({
      method: 'GET',
      url: '/v1/pets?tag=a+b&tag=c%26d&limit=3',
      headers: { 'x-tenant': 'acme', 'x-key': 'secret' },
      body: '',
    })
    await client.callTool('pets_addPet', { 'X-Tenant': 'acme', body: { name: 'Rex' } })
    expect(heard.at(-1)).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"name":"Rex"}',
    })
  })

  test.each([
    ['..a/b', '/v1/pets/..a%2Fb'],
    ['a/b?c#d', '/v1/pets/a%2Fb%3Fc%23d'],
    ['ü', '/v1/pets/%C3%BC'],
  ])('encode %s as one path segment', async (id, url) => {
    await client.callTool('pets_get_pets_pet_id', { pet_id: id })
    expect(heard.at(-1)?.url).toBe(url)
  })

  test.each([
    ['', ''],
    ['.', '.'],
    ['..', '..'],
    ['../admin', '..'],
  ])('refuse "%s" as a path segment', async (id, segment) => {
    const before = heard.length
    expect(await client.callTool('pets_get_pets_pet_id', { pet_id: id })).toMatchObject({
      isError: true,
      content: [{ text: `"${segment}" cannot be a segment of the path /pets/{pet id}` }],
    })
    expect(heard.length).toBe(before)
  })

  test.each(['a\ud800', '\udc00', 'a\nb'])('refuse %j as the value of a header', async (tenant) => {
    const before = heard.length
    expect(await client.callTool('pets_listPets', { 'X-Tenant': tenant })).toMatchObject({
      isError: true,
      content: [{ text: `${JSON.stringify(tenant)} cannot be sent as the header X-Tenant` }],
    })
    expect(heard.length).toBe(before)
  })

  test('refuse a lone surrogate in a query', async () => {
    const before = heard.length
    expect(await client.callTool('pets_listPets', { 'X-Tenant': 'acme', tag: ['a\ud800'] })).toMatchObject({
      isError: true,
      content: [{ text: '"a\\ud800" cannot be sent in a query or a form' }],
    })
    expect(heard.length).toBe(before)
  })

  test('refuse a list that is too long for a query', async () => {
    const tag = Array.from({ length: 200_000 }, () => '')
    expect(await client.callTool('pets_listPets', { 'X-Tenant': 'acme', tag })).toMatchObject({
      isError: true,
      content: [{ text: 'The arguments make a query of more than 65536 characters: send less' }],
    })
  })

  test.each([{ 'a\ud800': 'a' }, { a: 'a\ud800' }, { file: { data: 'YQ==', filename: 'a\ud800' } }])(
    'refuse a lone surrogate in a multipart form: %j',
    async (body) => {
      expect(await client.callTool('upload', { body })).toMatchObject({
        isError: true,
        content: [{ text: '"a\\ud800" cannot be sent in a query or a form' }],
      })
    },
  )

  test('refuse a name of a multipart form that is too long, and ignore one that sends nothing', async () => {
    const before = heard.length
    const name = 'k'.repeat(1_000_000)
    const text = `"${'k'.repeat(100)}" cannot be the name of a field: it has more than 4096 characters`
    expect(await client.callTool('upload', { body: { [name]: 'a' } })).toMatchObject({
      isError: true,
      content: [{ text }],
    })
    expect(heard.length).toBe(before)
    const body = { [name]: Array.from({ length: 20_000 }, () => null), a: 'b' }
    expect(await client.callTool('upload', { body })).not.toHaveProperty('isError')
    expect(heard.length).toBe(before + 1)
  })

  test.each([200, 500])('read at most 8 MiB of a response with status %i', async (status) => {
    const { content, isError } = await client.callTool('pets_get_pets_pet_id', { pet_id: `large-${status}` })
    expect((content as { text: string }[])[0]?.text.slice(0, 200)).toBe(
      `GET /pets/{pet id}: HTTP ${status} with more than 8388608 bytes for one POST, more than openApiTools() reads: ask for a smaller part`,
    )
    expect(isError).toBe(true)
  })

  test('send no number that JavaScript has rounded', async () => {
    const before = heard.length
    const call = '{"name":"pets_listPets","arguments":{"X-Tenant":"acme","limit":9007199254740993},"_meta":META}'
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    }
    const params = call.replace('META', JSON.stringify(meta))
    const response = await fetch(server.url, {
      method: 'POST',
      headers: statelessHeaders('tools/call', 'pets_listPets'),
      body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
    })
    expect(await response.text()).toContain('limit\\" must be between -9007199254740991 and 9007199254740991')
    expect(heard).toHaveLength(before)
  })

  test('return an error of the API or of the arguments to the model', async () => {
    expect(await client.callTool('pets_removePet', { pet_id: '1' })).toMatchObject({
      isError: true,
      content: [{ text: 'DELETE /pets/{pet id}: HTTP 403. {"problem":"Not yours"}' }],
    })
    const before = heard.length
    expect(await client.callTool('pets_listPets', { limit: 0 })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('Invalid arguments for pets_listPets') }],
    })
    expect(heard.length).toBe(before)
    const nobody = client.callTool('nobody_listPets', { 'X-Tenant': 'acme' })
    await expect(nobody).resolves.toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^GET|not answer$/) }],
    })
  })
})
