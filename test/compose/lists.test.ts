/** What an upstream lists is data: invalid entries are left out, and everything else stays readable. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { describe, expect, test } from 'vitest'
import { newServer, play } from '../engine/stage.ts'
import { startServer } from '../support/server.ts'
import { nodeProxy } from './node-proxy.ts'
import { type Answers, rpcError, scripted } from './scripted.ts'
import { startStub } from './stub.ts'

type Json = Record<string, unknown>

const inputSchema = { type: 'object' }
const good = { name: 'good', inputSchema }

async function listedBy(list: string, answers: Answers, setting = {}) {
  const upstream = scripted(answers)
  const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
  const { outcome, reported } = await play(server, list, {}, setting)
  const problems = reported.map((problem) => (problem as Error).message)
  return { list: (outcome.type === 'result' ? outcome.result : {}) as Json, problems, upstream }
}

describe('an invalid entry is left out and reported', () => {
  test.each<[string, string, unknown, Json, string]>([
    ['tools/list', 'tools', 'x', good, 'it must be an object'],
    ['tools/list', 'tools', { description: 7 }, good, '"name" must be 1 to 1024 characters without control characters'],
    ['tools/list', 'tools', { name: 'a\n', inputSchema }, good, '"name" must be'],
    ['tools/list', 'tools', { name: '', inputSchema }, good, '"name" must be'],
    ['tools/list', 'tools', { name: 'a'.repeat(1025), inputSchema }, good, '"name" must be'],
    ['tools/list', 'tools', { name: 'a' }, good, '"inputSchema" must be a JSON Schema with the type "object"'],
    ['tools/list', 'tools', { name: 'a', inputSchema: 'no' }, good, '"inputSchema" must be'],
    ['tools/list', 'tools', { name: 'a', inputSchema: { type: 'string' } }, good, '"inputSchema" must be'],
    ['tools/list', 'tools', { ...good, name: 'a', description: 7 }, good, '"description" must be a string'],
    ['tools/list', 'tools', { ...good, name: 'a', outputSchema: 7 }, good, '"outputSchema" must be an object'],
    ['tools/list', 'tools', { ...good, name: 'a', annotations: [] }, good, '"annotations" must be an object'],
    [
      'tools/list',
      'tools',
      { ...good, name: 'a', icons: [{}] },
      good,
      '"icons" must be a list of objects with a "src"',
    ],
    ['prompts/list', 'prompts', { name: 7 }, { name: 'good' }, '"name" must be'],
    ['prompts/list', 'prompts', { name: 'a', arguments: [{}] }, { name: 'good' }, '"arguments" must be'],
    ['resources/list', 'resources', { uri: 'a:b' }, { uri: 'a:c', name: 'c' }, '"name" must be a string'],
    ['resources/list', 'resources', { uri: 7, name: 'b' }, { uri: 'a:c', name: 'c' }, '"uri" must be a URI'],
    ['resources/list', 'resources', { uri: 'b', name: 'b' }, { uri: 'a:c', name: 'c' }, '"uri" must be a URI'],
    ['resources/list', 'resources', { uri: 'a:b', name: 'b', size: '7' }, { uri: 'a:c', name: 'c' }, '"size" must be'],
    ...['x:{?(((a+)+)+)}', 7, `x:${'{a}'.repeat(40)}`].map((uriTemplate): [string, string, unknown, Json, string] => [
      'resources/templates/list',
      'resourceTemplates',
      { uriTemplate, name: 'b' },
      { uriTemplate: 'a:{b}', name: 'c' },
      '"uriTemplate" must be a URI template (RFC 6570)',
    ]),
  ])('of %s in "%s": %j', async (list, member, bad, other, problem) => {
    const { list: listed, problems } = await listedBy(list, { [list]: { [member]: [bad, other, bad] } })
    expect(listed[member]).toEqual([other])
    expect(problems).toEqual([
      expect.stringContaining(
        `The server at upstream.example has 2 invalid entries in ${list}, which proxy() leaves out: `,
      ),
    ])
    expect(problems[0]).toContain(problem)
  })

  test('optional members that are null are left out of their entry', async () => {
    const tool = { ...good, title: null, description: null, outputSchema: null, annotations: null, icons: null }
    expect((await listedBy('tools/list', { 'tools/list': { tools: [tool] } })).list.tools).toEqual([good])
  })
})

describe('pages', () => {
  const tool = (name: string) => ({ name, inputSchema })
  const namesOf = ({ list }: { list: Json }) => (list.tools as { name: string }[]).map(({ name }) => name)

  test.each([null, '', 7, {}])('the cursor %j is the end of the list', async (nextCursor) => {
    const listed = await listedBy('tools/list', { 'tools/list': { tools: [tool('useful')], nextCursor } })
    expect(namesOf(listed)).toEqual(['useful'])
    expect(listed.upstream.asked('tools/list')).toHaveLength(1)
  })

  test('a repeated cursor ends the list', async () => {
    const listed = await listedBy('tools/list', { 'tools/list': { tools: [tool('useful')], nextCursor: 'again' } })
    expect(namesOf(listed)).toEqual(['useful'])
    expect(listed.upstream.asked('tools/list')).toHaveLength(2)
  })

  test('an error of a later page leaves out that page alone', async () => {
    const listed = await listedBy('tools/list', {
      'tools/list': ({ id, params }) =>
        params.cursor ? rpcError(id, -32603, 'No more') : { tools: [tool('first')], nextCursor: 'second' },
    })
    expect(namesOf(listed)).toEqual(['first'])
    expect(listed.problems).toEqual(['No more'])
  })

  test('a list of another type is an error that names the upstream', async () => {
    const listed = await listedBy('tools/list', { 'tools/list': { tools: 'x' } })
    expect(namesOf(listed)).toEqual([])
    expect(listed.problems).toEqual([
      'The server at upstream.example answered tools/list with an invalid result: the member "tools" must be a list',
    ])
  })
})

test('the official client reads a list to which an upstream adds invalid tools', async () => {
  const stub = await startStub()
  const wellFormed = stub.tools
  stub.tools = [{ description: 7 }, { name: `${'x'.repeat(300)} \n`, inputSchema: 'nothing' }, ...wellFormed]
  await using server = await startServer('test/compose/callers', { UPSTREAM: stub.url, OTHER: stub.url })
  const client = new Client({ name: 'test', version: '1' })
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', server.url)))
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['secret_of', 'other'])
  } finally {
    await client.close()
    stub.close()
  }
})
