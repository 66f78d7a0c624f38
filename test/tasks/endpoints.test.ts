import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { type ControlledServer, startControlled } from '../support/objects.ts'
import { startServer as startWithoutKeys } from '../support/server.ts'
import { type Json, knowing, TaskClient, textOf } from './client.ts'

const refused = "The task was stopped: reauthorize of the server's auth refused the caller who began it"

let server: ControlledServer
beforeAll(async () => {
  server = await startControlled('test/tasks/endpoints')
})
afterAll(() => server[Symbol.asyncDispose]())

const token = btoa(JSON.stringify({ iss: 'https://issuer.example', sub: 'ada', email: 'ada@example.com' }))
const ada = { capabilities: knowing, user: `Bearer ${token}` }
const at = (path: string) => new URL(path, server.url)

/** What a task of this endpoint comes to: its text, or the message of its error. */
async function outcomeAt(url: URL, tool = 'claims'): Promise<unknown> {
  const client = new TaskClient(url)
  const taskId = await client.begin(tool, {}, ada)
  const isOver = (task: Json) => task.status === 'completed' || task.status === 'failed'
  await expect.poll(async () => isOver(await client.get(taskId, ada)), { timeout: 20_000 }).toBe(true)
  const task = await client.get(taskId, ada)
  return task.status === 'completed' ? textOf(task) : (task.error as Json).message
}

/** What a task comes to that is begun in a session of this endpoint. */
async function outcomeInSession(url: URL, tool = 'claims'): Promise<unknown> {
  await using session = await connect(url, { revision: '2025-11-25', token })
  const { task } = (await session.request('tools/call', { name: tool, arguments: {}, task: {} })) as { task: Json }
  const { taskId } = task
  try {
    const { content } = (await session.request('tasks/result', { taskId })) as { content: [{ text: string }] }
    return content[0].text
  } catch (thrown) {
    return (thrown as Error).message
  }
}

describe.each([
  ['a stateless call', outcomeAt],
  ['a call in a session', outcomeInSession],
])('the task of %s', (_, outcome) => {
  test('uses the reauthorize and storedClaims options of its tenant', async () => {
    const outcomes: Json = {}
    for (const tenant of ['strict', 'storing', 'fresh', 'strict', 'storing']) {
      outcomes[tenant] = await outcome(at(`/${tenant}/mcp`))
    }
    expect(outcomes).toEqual({
      strict: expect.stringContaining(refused),
      storing: '{"email":"ada@example.com"}',
      fresh: '{"fresh":true}',
    })
  })
})

describe('a task of a mounted server', () => {
  test.each([
    ['a stateless call', outcomeAt],
    ['a call in a session', outcomeInSession],
  ])('uses the auth of the outer server, under its name there: %s', async (_, outcome) => {
    expect(await outcome(at('/refusing'), 'part_claims')).toContain(refused)
    expect(await outcome(at('/keeping'), 'part_claims')).toBe('{"email":"ada@example.com"}')
  })

  test.each([
    ['mounted', '/keeping', 'part_claims'],
    ['mounted in a mounted server, behind a proxy', '/nested', 'middle_part_claims'],
  ])('is declared, started, listed and announced by the outer server: %s', async (_, path, name) => {
    await using session = await connect(at(path), { revision: '2025-11-25', token })
    expect(session.initializeResult.capabilities).toMatchObject({ tasks: { requests: { tools: { call: {} } } } })
    const { tools } = await session.request('tools/list')
    expect(tools).toContainEqual(expect.objectContaining({ name, execution: { taskSupport: 'optional' } }))

    const client = new TaskClient(at(path))
    const taskId = await client.begin(name, {}, ada)
    await using stream = await client.listen({ notifications: { taskIds: [taskId] } }, ada)
    expect((await stream.next()).params.notifications).toEqual({ taskIds: [taskId] })
    expect(await stream.next()).toMatchObject({ method: 'notifications/tasks', params: { taskId } })
  })

  test('makes the outer server declare experimental capabilities', async () => {
    await using session = await connect(at('/nested'), { revision: '2025-11-25', token })
    const experimental = { 'com.example/own': { level: 1 }, 'com.example/trial': { level: 2 } }
    expect(session.initializeResult.capabilities).toMatchObject({ experimental })
    await using stateless = await connect(at('/nested'), { revision: '2026-07-28', token })
    expect(stateless.initializeResult.capabilities).toMatchObject({ experimental })
  })
})

test('the limits of the endpoint apply to the sessions of its tenants', async () => {
  await using session = await connect(at('/fresh/mcp'), { revision: '2025-11-25', token })
  const calls = async () => {
    for (let count = 0; count < 4; count++) await session.request('tools/call', { name: 'rare', arguments: {} })
  }
  await expect(calls()).rejects.toMatchObject({ status: 429 })
})

test('endpoints with separate session classes share the key ring of a Worker without EDGEMCP_KEYS', async () => {
  await using keyless = await startWithoutKeys('test/tasks/endpoints')
  expect(await outcomeAt(new URL('/keeping', keyless.url), 'part_claims')).toBe('{"email":"ada@example.com"}')
})
