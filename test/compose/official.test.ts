/** A server of the official SDK that speaks the newest revision, behind one of ours. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, everyRevision, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let official: TestServer
let server: TestServer
beforeAll(async () => {
  official = await startServer('test/compose/official')
  server = await startServer('test/compose/before-official', { OFFICIAL: official.url.href })
})
afterAll(() => Promise.all([server, official].map((each) => each?.[Symbol.asyncDispose]())))

test.each(everyRevision)(
  'a proxy of an official SDK server offers all of its features to clients of %s',
  async (revision) => {
    const answers = { elicit: () => ({ action: 'accept', content: { amount: 3 } }) }
    await using client: TestClient = await connect(server.url, { revision, answers })
    expect(client.initializeResult.capabilities).toMatchObject({ tools: {}, prompts: {}, resources: {} })
    const listed = async (method: string, member: string) => (await client.request(method))[member]
    expect(await listed('tools/list', 'tools')).toMatchObject([{ name: 'desk_order' }])
    expect(await listed('prompts/list', 'prompts')).toMatchObject([{ name: 'desk_review' }])
    expect(await listed('resources/list', 'resources')).toMatchObject([{ uri: 'desk://readme' }])
    const templates = await listed('resources/templates/list', 'resourceTemplates')
    expect(templates).toMatchObject([{ uriTemplate: 'desk://notes/{id}' }])

    const asks = !['2025-03-26', '2024-11-05'].includes(revision)
    const text = asks ? 'Ordered 3 of tea' : expect.stringContaining('Cannot request input')
    expect(await client.callTool('desk_order', { item: 'tea' })).toMatchObject({ content: [{ text }] })
    const prompt = await client.request('prompts/get', { name: 'desk_review', arguments: { topic: 'tea' } })
    expect(prompt.messages).toMatchObject([{ content: { text: 'Review tea' } }])
    const read = (uri: string) => client.request('resources/read', { uri })
    expect((await read('desk://notes/7')).contents).toMatchObject([{ text: 'Note 7' }])
    await expect(read('desk://nothing/7')).rejects.toMatchObject({ code: revision >= '2026-07-28' ? -32602 : -32002 })
  },
)
