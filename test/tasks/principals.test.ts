import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { type ControlledServer, startControlled } from '../support/objects.ts'
import { serverProcess } from '../support/process.ts'
import { type Json, knowing, type Sent, TaskClient, textIn, textOf } from './client.ts'

const folder = 'test/tasks/principals'
const tokenOf = (claims: Json) => btoa(JSON.stringify({ iss: 'https://issuer.example', ...claims }))
const as = (claims: Json): Sent => ({ capabilities: knowing, user: `Bearer ${tokenOf(claims)}` })
const accepted = { sure: { action: 'accept', content: {} } }

let plain: ControlledServer
let hooked: ControlledServer
beforeAll(async () => {
  plain = await startControlled(folder)
  hooked = await startControlled(folder, { HOOK: 'yes' })
})
afterAll(async () => {
  await plain[Symbol.asyncDispose]()
  await hooked[Symbol.asyncDispose]()
})

/** Names and contents of all files below a folder. */
function filesIn(folder: string): { name: string; content: Buffer }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => ({ name: join(parentPath, name), content: readFileSync(join(parentPath, name)) }))
}

describe('the stored principal', () => {
  test('contains neither the token nor claims, and in tasks no subject', async () => {
    let folder = ''
    await using process = await serverProcess(({ port, data }) => {
      folder = data
      return ['scripts/start.ts', '../test/tasks/principals', '--port', port, '--data', data]
    })
    await process.start()
    const claims = { sub: 'subject-of-ada', upstream_token: 'MARKER-IN-A-CLAIM' }
    const token = tokenOf(claims)
    const client = new TaskClient(process.url)
    const asking = await client.begin('confirm', { key: 'stored' }, as(claims))
    await client.until(asking, 'input_required', as(claims))
    const auth = { token }
    await using session = await connect(process.url, { revision: '2025-11-25', ...auth })
    await session.request('resources/subscribe', { uri: 'note://1' })
    await session.request('tools/call', { name: 'confirm', arguments: { key: 'stored' }, task: {} })
    expect(await session.request('tasks/list')).toMatchObject({ tasks: [{}] })
    await using _stream = await client.listen({ notifications: { taskIds: [asking] } }, as(claims))

    const files = filesIn(folder)
    const holding = (text: string, among = '') =>
      files.filter(({ name, content }) => name.includes(among) && content.includes(text)).map(({ name }) => name)
    // The tools of the tasks are there: this looks into the right files.
    expect(holding('confirm', 'McpTask')).not.toEqual([])
    expect(holding('MARKER-IN-A-CLAIM')).toEqual([])
    expect(holding(token)).toEqual([])
    expect(holding('subject-of-ada', 'McpTask')).toEqual([])
  })
})

describe('the principal of a task', () => {
  test('has its identity, its scopes and the storedClaims', async () => {
    const ada = as({ sub: 'ada', scope: 'a b', email: 'ada@example.com', secret: 'x' })
    const client = new TaskClient(plain.url)
    const task = await client.until(await client.begin('who', {}, ada), 'completed', ada)
    expect(JSON.parse(String(textOf(task)))).toEqual({
      subject: 'ada',
      scopes: ['a', 'b'],
      claims: { email: 'ada@example.com' },
    })
  })

  test('can use entries that were visible to it at the call', async () => {
    const ada = as({ sub: 'ada', plan: 'pro' })
    const client = new TaskClient(plain.url)
    expect(textOf(await client.until(await client.begin('pro', {}, ada), 'completed', ada))).toBe('done')
  })

  test('has the storedClaims of the auth of its credential, without reauthorize of another one', async () => {
    const ada: Sent = { capabilities: knowing, user: 'Bearer key_ada' }
    for (const { url } of [plain, hooked]) {
      const client = new TaskClient(url)
      const task = await client.until(await client.begin('who', {}, ada), 'completed', ada)
      expect(JSON.parse(String(textOf(task)))).toEqual({ subject: 'ada', scopes: [], claims: { city: 'Turin' } })
      // A principal that no reauthorize has returned keeps what was visible to it at the call.
      expect(textOf(await client.until(await client.begin('pro', {}, ada), 'completed', ada))).toBe('done')
    }
  })

  test('is what reauthorize returns', async () => {
    const ada = as({ sub: 'ada', scope: 'a', email: 'ada@example.com', secret: 'x' })
    const client = new TaskClient(hooked.url)
    const task = await client.until(await client.begin('who', {}, ada), 'completed', ada)
    expect(JSON.parse(String(textOf(task)))).toMatchObject({
      subject: 'ada',
      claims: { email: 'ada@example.com', fresh: true, tool: 'who' },
    })
  })

  test('fails its task when reauthorize refuses it, before other effects', async () => {
    const eve = as({ sub: 'eve' })
    const key = crypto.randomUUID()
    const client = new TaskClient(hooked.url)
    const taskId = await client.begin('confirm', { key }, eve)
    await client.until(taskId, 'input_required', eve)
    await client.call('refuse', { subject: 'eve' }, eve)
    await client.result('tasks/update', { taskId, inputResponses: accepted }, eve)
    expect((await client.until(taskId, 'failed', eve)).error).toEqual({
      code: -32600,
      message: "The task was stopped: reauthorize of the server's auth refused the caller who began it",
    })
    expect(textIn(await client.call('counted', { key }, eve))).toBe('0')
  })

  test('cannot change to another principal', async () => {
    const changeling = as({ sub: 'changeling' })
    const client = new TaskClient(hooked.url)
    const task = await client.until(await client.begin('who', {}, changeling), 'failed', changeling)
    expect(task.error).toMatchObject({ message: expect.stringContaining('another principal') })
  })

  test('is determined again when reauthorize fails', async () => {
    const bob = as({ sub: 'bob' })
    const client = new TaskClient(hooked.url)
    const taskId = await client.begin('confirm', { key: crypto.randomUUID() }, bob)
    await client.until(taskId, 'input_required', bob)
    await client.call('disturb', { subject: 'bob', fails: true }, bob)
    await client.result('tasks/update', { taskId, inputResponses: accepted }, bob)
    await expect.poll(async () => (await client.get(taskId, bob)).statusMessage).toMatch(/reauthorize failed/)
    await client.call('disturb', { subject: 'bob', fails: false }, bob)
    await client.until(taskId, 'completed', bob)
  })
})

describe.each(['plain', 'hooked'])('arguments of a task that depend on the caller, %s', (which) => {
  const url = (query = '') => new URL(query, (which === 'plain' ? plain : hooked).url)
  const trial = { sub: 'tess', trial: true }
  const pro = { sub: 'paul', plan: 'pro' }

  /** Calls as a task of 2026-07-28, then of 2025-11-25. */
  async function results(name: string, args: Json, claims: Json, query = ''): Promise<unknown[]> {
    const client = new TaskClient(url(query))
    const { result } = await client.until(await client.begin(name, args, as(claims)), 'completed', as(claims))
    await using session = await connect(url(query), { revision: '2025-11-25', token: tokenOf(claims) })
    const { task } = (await session.request('tools/call', { name, arguments: args, task: {} })) as {
      task: { taskId: string }
    }
    return [result, await session.request('tasks/result', { taskId: task.taskId })]
  }
  const refused = {
    isError: true,
    content: [{ text: expect.stringContaining('Invalid arguments') }],
  }
  const saying = (text: string) => ({ content: [{ text }] })

  test('are refused by the schema of the caller', async () => {
    expect(await results('spend', { amount: 1000 }, trial)).toMatchObject([refused, refused])
  })

  test('are accepted by the schema of the caller, and arrive with their types', async () => {
    const args = { amount: 1000, from: '2026-01-01' }
    const accepts = saying('spent 1000 from 2026')
    expect(await results('grant', args, pro)).toMatchObject([accepts, accepts])
    expect(await results('grant', { amount: 1000 }, trial)).toMatchObject([refused, refused])
  })

  test('are validated for the HTTP request of the call', async () => {
    expect(await results('limited', { amount: 1000 }, pro, '?limited')).toMatchObject([refused, refused])
    expect(await results('limited', { amount: 1000 }, pro)).toMatchObject([saying('spent 1000'), saying('spent 1000')])
  })

  test('are those of an interceptor that changed them for the caller', async () => {
    expect(await results('clamped', { amount: 1000 }, trial)).toMatchObject([saying('spent 10'), saying('spent 10')])
  })

  test('stay decided after input responses and in a retry', async () => {
    const sent = as({ sub: crypto.randomUUID(), plan: 'pro' })
    const client = new TaskClient(url())
    const taskId = await client.begin('confirm_grant', { amount: 1000, from: '2026-01-01' }, sent)
    await client.until(taskId, 'input_required', sent)
    await client.result('tasks/update', { taskId, inputResponses: accepted }, sent)
    expect(textOf(await client.until(taskId, 'completed', sent))).toBe('spent 1000 from 2026')
  })
})

describe('a task of a tool that requires scopes', () => {
  const high = as({ sub: 'ada', scope: 'hr:read' })
  const low = as({ sub: 'ada', scope: '' })

  test('requires them to poll, answer or cancel it, like the call', async () => {
    const client = new TaskClient(plain.url)
    const done = await client.begin('salaries', {}, high)
    await client.until(done, 'completed', high)
    const asking = await client.begin('raise', {}, high)
    await client.until(asking, 'input_required', high)
    const call = await client.ask('tools/call', { name: 'salaries', arguments: {} }, low)
    expect(call).toMatchObject({ status: 403, error: { data: { scopes: ['hr:read'] } } })
    expect(await client.ask('tasks/get', { taskId: done }, low)).toEqual(call)
    expect(await client.ask('tasks/cancel', { taskId: asking }, low)).toEqual(call)
    expect(await client.ask('tasks/update', { taskId: asking, inputResponses: accepted }, low)).toEqual(call)
    expect(await client.get(asking, high)).toMatchObject({ status: 'input_required' })
    expect(textOf(await client.get(done, high))).toBe('1, 2, 3')
  })

  test('causes a challenge with its scopes', async () => {
    const client = new TaskClient(plain.url)
    const taskId = await client.begin('salaries', {}, high)
    const challenge = await client.challenge('tasks/get', { taskId }, low)
    expect(challenge).toContain('error="insufficient_scope"')
    expect(challenge).toContain('scope="hr:read"')
  })

  test('is not announced on a stream without them', async () => {
    const client = new TaskClient(plain.url)
    const taskId = await client.begin('raise', {}, high)
    await using stream = await client.listen({ notifications: { taskIds: [taskId] } }, low)
    expect((await stream.next()).params.notifications).toEqual({ taskIds: [] })
  })

  test('is neither listed nor announced in a session without them', async () => {
    const tokens = { high: tokenOf({ sub: 'bea', scope: 'hr:read' }), low: tokenOf({ sub: 'bea' }) }
    await using privileged = await connect(plain.url, { revision: '2025-11-25', token: tokens.high })
    await using other = await connect(plain.url, { revision: '2025-11-25', token: tokens.low })
    const { task } = (await privileged.request('tools/call', { name: 'salaries', arguments: {}, task: {} })) as {
      task: { taskId: string }
    }
    const { taskId } = task
    expect(await privileged.request('tasks/result', { taskId })).toMatchObject({ content: [{ text: '1, 2, 3' }] })
    expect(await privileged.request('tasks/list')).toMatchObject({ tasks: [{ taskId }] })
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      await expect(other.request(method, { taskId })).rejects.toMatchObject({ status: 403 })
    }
    expect(await other.request('tasks/list')).toEqual({ tasks: [] })
  })
})
