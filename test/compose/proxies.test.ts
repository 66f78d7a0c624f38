/** Several servers behind one, tasks beside them, and one in another. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { TaskClient } from '../tasks/client.ts'
import { type Behind, startGateway } from './behind.ts'

type Json = Record<string, unknown>

let behind: Behind
beforeAll(async () => {
  behind = await startGateway()
})
afterAll(() => behind?.[Symbol.asyncDispose]())

const at = (name: string) => new URL(`/${name}/mcp`, behind.gateway.url)

describe.each(['2026-07-28', '2025-11-25'])('for clients of %s', (revision) => {
  const to = (name: string) => connect(at(name), { revision })

  test.each([
    ['mixed', ['who', 'long', 'add', 'bare', 'echo', 'asks', 'where', 'refuses', 'fails'], 'mixed'],
    ['turned', ['long', 'echo', 'who', 'asks', 'where', 'refuses', 'fails', 'bare', 'add'], 'undefined '],
  ])('names without prefix belong to the first upstream that lists them: %s', async (name, tools, who) => {
    await using client = await to(name)
    const listed = (await client.request('tools/list')).tools as { name: string }[]
    expect(listed.map((tool) => tool.name)).toEqual(tools)
    const text = async (tool: string, args?: Json) => (await client.callTool(tool, args)).content
    expect(await text('who')).toMatchObject([{ text: who }])
    expect(await text('bare')).toMatchObject([{ text: 'bare' }])
    expect(await text('echo', { text: 'hi' })).toMatchObject([{ text: 'hi' }])
    expect(await text('add', { a: 1, b: 2 })).toMatchObject([{ text: '3' }])
    expect(await text('long')).toMatchObject([{ text: 'Done' }])
    await expect(client.callTool('nothing')).rejects.toMatchObject({ code: -32602, message: 'Unknown tool: nothing' })
  })

  test.each([
    ['mixed', 'Mixed', 'Mixed'],
    ['turned', 'Newer', 'Greet'],
  ])('an entry of the server itself precedes those of upstreams: %s', async (name, about, plain) => {
    await using client = await to(name)
    const { contents } = await client.request('resources/read', { uri: 'about:upstream' })
    expect(contents).toMatchObject([{ text: about }])
    const { messages } = await client.request('prompts/get', { name: 'plain' })
    expect(messages).toMatchObject([{ content: { text: plain } }])
  })

  test('the upstream that lists a resource answers, in any order of the upstreams', async () => {
    await using mixed = await to('mixed')
    await using turned = await to('turned')
    const both = async (client: typeof mixed) =>
      (await client.request('resources/read', { uri: 'both://newer' })).contents
    expect(await both(mixed)).toMatchObject([{ text: 'Newer' }])
    expect(await both(turned)).toMatchObject([{ text: 'Newer' }])
  })

  test('the upstreams of a mounted server are mounted with it', async () => {
    await using client = await to('outer')
    expect((client.initializeResult.capabilities as Json).prompts).toEqual({})
    expect(await client.callTool('inner_newer_echo', { text: 'hi' })).toMatchObject({
      content: [{ text: 'hi, inner' }],
    })
    await expect(client.callTool('inner_newer_echo', { text: 'forbidden' })).rejects.toMatchObject({
      message: 'That must not be said',
    })
    const { prompts } = (await client.request('prompts/list')) as { prompts: { name: string }[] }
    expect(prompts.map(({ name }) => name)).toContain('inner_newer_greet')
    expect(await client.request('resources/read', { uri: 'note://1' })).toMatchObject({
      contents: [{ text: 'Note 1' }],
    })
  })

  test('an upstream that does not answer in time counts as having tools, and is left out of lists', async () => {
    await using client = await to('lonely')
    const { tools, prompts, resources, completions } = client.initializeResult.capabilities as Json
    expect({ tools, prompts, resources, completions }).toEqual({ tools: {} })
    expect((await client.request('tools/list')).tools).toEqual([])
    await expect(client.callTool('silent_x')).rejects.toMatchObject({
      code: -32603,
      message: expect.stringMatching(/^The server at 127\.0\.0\.1:\d+ does not answer$/),
    })
  })
})

test.each(['mixed', 'turned'])('tools of the server itself can run as tasks: %s', async (name) => {
  const client = new TaskClient(at(name))
  const begun = (await client.ask('tools/call', { name: 'long', arguments: {} })).result as Json
  expect(begun).toMatchObject({ resultType: 'task' })
  await expect
    .poll(async () => (await client.ask('tasks/get', { taskId: begun.taskId })).result)
    .toMatchObject({ status: 'completed', result: { content: [{ text: 'Done' }] } })
  const { result } = await client.ask('tools/call', { name: 'echo', arguments: { text: 'hi' } })
  expect(result).toMatchObject({ content: [{ text: 'hi' }] })
})

test.each(['mixed', 'turned'])('sessions get the capabilities for tasks and those of upstreams: %s', async (name) => {
  await using client = await connect(at(name), { revision: '2025-11-25' })
  expect(client.initializeResult.capabilities).toMatchObject({
    tasks: {},
    tools: {},
    prompts: {},
    resources: {},
    completions: {},
  })
})
