/** Apps and skills of two upstreams with the same `ui://` and `skill://` URIs, one upstream without sessions and one with sessions. */
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type Sdk, startSdk } from './behind.ts'

type Json = Record<string, unknown>

/** The upstream `widget`, in sessions. */
function widgetServer(): McpServer {
  const server = new McpServer({ name: 'widget', version: '1.0.0' })
  const uri = 'ui://widget/main.html'
  server.registerResource('widget', uri, { mimeType: 'text/html' }, () => ({ contents: [{ uri, text: '<p>two</p>' }] }))
  const skill = 'skill://use/SKILL.md'
  server.registerResource('use', skill, {}, () => ({ contents: [{ uri: skill, text: 'Use two' }] }))
  const theme = new ResourceTemplate('ui://theme/{name}', { list: undefined, complete: { name: () => ['two-dark'] } })
  server.registerResource('theme', theme, {}, ({ href }, { name }) => ({
    contents: [{ uri: href, text: `two ${name}` }],
  }))
  const _meta = { ui: { resourceUri: uri }, 'ui/resourceUri': uri }
  server.registerTool('draw', { description: 'Draws', _meta }, () => ({
    content: [
      { type: 'resource_link', uri, name: 'widget' },
      { type: 'resource', resource: { uri: skill, text: 'Use two' } },
      { type: 'resource', resource: { uri: 'note://1', text: 'A note' } },
    ],
  }))
  server.registerPrompt('plan', { description: 'Plans' }, () => ({
    messages: [{ role: 'user', content: { type: 'resource', resource: { uri, text: 'two' } } }],
  }))
  return server
}

let one: TestServer
let two: Sdk
let gateway: TestServer
beforeAll(async () => {
  one = await startServer('test/compose/widget', { NAME: 'one' })
  two = await startSdk(widgetServer)
  gateway = await startServer('test/compose/widgets', { ONE: one.url.href, TWO: two.url })
})
afterAll(async () => {
  await Promise.all([gateway, one].map((server) => server?.[Symbol.asyncDispose]()))
  two?.close()
})

describe.each(['2026-07-28', '2025-11-25'])('a client of %s', (revision) => {
  const textAt = async (client: TestClient, uri: string) => {
    const { contents } = (await client.request('resources/read', { uri })) as { contents: Json[] }
    return contents.map((each) => [each.uri, each.text])
  }

  test('sees the resources of each upstream under its prefix, and its own unchanged', async () => {
    await using client = await connect(gateway.url, { revision })
    const { resources } = (await client.request('resources/list')) as { resources: Json[] }
    expect(resources.map(({ uri }) => uri)).toEqual([
      'ui://widget/main.html',
      ...['ui://one_widget/main.html', 'skill://one_use/SKILL.md'],
      ...['ui://two_widget/main.html', 'skill://two_use/SKILL.md'],
    ])
    const { resourceTemplates } = (await client.request('resources/templates/list')) as { resourceTemplates: Json[] }
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'ui://one_theme/{name}',
      'ui://two_theme/{name}',
    ])
  })

  test.each(['one', 'two'])('shows the app of the upstream %s for its tool', async (name) => {
    await using client = await connect(gateway.url, { revision })
    const { tools } = (await client.request('tools/list')) as { tools: Json[] }
    const uri = `ui://${name}_widget/main.html`
    expect(tools.find((tool) => tool.name === `${name}_draw`)?._meta).toMatchObject({
      ui: { resourceUri: uri },
      'ui/resourceUri': uri,
    })
    expect(await textAt(client, uri)).toEqual([[uri, `<p>${name}</p>`]])
    expect(await textAt(client, `skill://${name}_use/SKILL.md`)).toEqual([
      [`skill://${name}_use/SKILL.md`, `Use ${name}`],
    ])
    expect(await textAt(client, `ui://${name}_theme/dark`)).toEqual([[`ui://${name}_theme/dark`, `${name} dark`]])
  })

  test.each(['one', 'two'])('gets links and embedded resources of the upstream %s that it can read', async (name) => {
    await using client = await connect(gateway.url, { revision })
    const { content } = await client.callTool(`${name}_draw`)
    expect(content).toMatchObject([
      { type: 'resource_link', uri: `ui://${name}_widget/main.html` },
      { type: 'resource', resource: { uri: `skill://${name}_use/SKILL.md`, text: `Use ${name}` } },
      { type: 'resource', resource: { uri: 'note://1' } },
    ])
    const { messages } = await client.request('prompts/get', { name: `${name}_plan` })
    expect(messages).toMatchObject([{ content: { resource: { uri: `ui://${name}_widget/main.html` } } }])
    const ref = { type: 'ref/resource', uri: `ui://${name}_theme/{name}` }
    const { completion } = await client.request('completion/complete', { ref, argument: { name: 'name', value: '' } })
    expect(completion).toMatchObject({ values: [`${name}-dark`] })
  })

  test('reads its own app, and no URI of an upstream without the prefix', async () => {
    await using client = await connect(gateway.url, { revision })
    expect(await textAt(client, 'ui://widget/main.html')).toEqual([['ui://widget/main.html', '<p>own</p>']])
    await expect(textAt(client, 'skill://use/SKILL.md')).rejects.toMatchObject({
      code: revision > '2026' ? -32602 : -32002,
    })
  })
})
