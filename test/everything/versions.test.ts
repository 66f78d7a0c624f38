/** examples/everything as clients of every protocol version see it. */
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, everyRevision } from '../../worker/testing/index.ts'
import type { TestServer } from '../support/server.ts'
import { TaskClient, textOf } from '../tasks/client.ts'
import { startExample } from './servers.ts'

let server: TestServer
beforeAll(async () => {
  server = await startExample()
})
afterAll(() => server[Symbol.asyncDispose]())

const answers = {
  elicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
  sample: () => ({ model: 'a model', role: 'assistant', content: { type: 'text', text: 'Tea.' } }),
  roots: () => ({ roots: [{ uri: 'file:///work', name: 'Work' }] }),
}

describe.each(everyRevision)('%s', (revision) => {
  const open = () => connect(server.url, { revision, sse: revision === '2024-11-05', answers })

  test('a file that a tool compresses is a resource, for the client that called the tool', async () => {
    await using client = await open()
    const args = { name: 'dir/a.gz', data: 'data:text/plain,hello', outputType: 'resource' }
    const { content } = await client.callTool('gzip-file-as-resource', args)
    const [{ resource }] = content as unknown as [{ resource: { uri: string; blob: string } }]
    const { contents } = await client.request('resources/read', { uri: resource.uri })
    expect(contents).toEqual([resource])
    expect(gunzipSync(Buffer.from(resource.blob, 'base64')).toString()).toBe('hello')
  })

  test('tools request input of the client', async () => {
    await using client = await open()
    expect(JSON.stringify(await client.callTool('get-roots-list'))).toContain('1. Work\\n   URI: file:///work')
    expect(JSON.stringify(await client.callTool('trigger-sampling-request', { prompt: 'Why?' }))).toContain('Tea.')
    if (revision < '2025-06-18') return
    // The form has fields with several choices, which 2025-06-18 cannot express.
    const shown = revision === '2025-06-18' ? 'cannot express the input request' : '- Name: Ada'
    expect(JSON.stringify(await client.callTool('trigger-elicitation-request'))).toContain(shown)
  })

  test('a client reads a resource, gets a prompt and completes an argument', async () => {
    await using client = await open()
    const { contents } = await client.request('resources/read', { uri: 'demo://resource/static/document/features.md' })
    expect(contents).toMatchObject([{ text: expect.stringMatching(/^# Features/) }])
    const { messages } = await client.request('prompts/get', { name: 'args-prompt', arguments: { city: 'Paris' } })
    expect(messages).toMatchObject([{ content: { text: "What's weather in Paris?" } }])
    const { completion } = await client.request('completion/complete', {
      ref: { type: 'ref/prompt', name: 'resource-prompt' },
      argument: { name: 'resourceType', value: 'B' },
    })
    expect(completion).toMatchObject({ values: ['Blob'] })
  })
})

test('a file of a session is unknown in other sessions', async () => {
  const revision = '2025-11-25'
  await using owner = await connect(server.url, { revision })
  await using other = await connect(server.url, { revision })
  await owner.callTool('gzip-file-as-resource', { name: 'own.gz', data: 'data:text/plain,hello' })
  const uri = 'demo://resource/session/own.gz'
  expect(await owner.request('resources/read', { uri })).toMatchObject({ contents: [{ uri }] })
  await expect(other.request('resources/read', { uri })).rejects.toMatchObject({ code: -32002 })
})

test('a client of 2026-07-28 runs the research as a task, and answers its input request', async () => {
  const client = new TaskClient(server.url)
  const taskId = await client.begin('simulate-research-query', { topic: 'mercury', ambiguous: true })
  const { statusMessage } = await client.until(taskId, 'input_required')
  expect(statusMessage).toContain('multiple interpretations')
  const interpretation = { action: 'accept', content: { interpretation: 'historical' } }
  await client.result('tasks/update', { taskId, inputResponses: { interpretation } })
  expect(textOf(await client.until(taskId, 'completed'))).toContain('# Research Report: mercury (historical)')
})
