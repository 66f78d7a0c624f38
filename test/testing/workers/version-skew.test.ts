import { exports } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import type { TaskRpc } from '../../../durable-objects/rpc.ts'

const namespace = (exports as unknown as { McpTask: { getByName(name: string): TaskRpc } }).McpTask

/** What a Worker of release 0.1 sends. Not to be changed: later objects must read it. */
const release01 = {
  call: {
    params: { name: 'write_report', arguments: { topic: 'Tea' } },
    capabilities: {},
    client: { name: 'test', version: '1' },
    principal: undefined,
    identity: 'test',
  },
  terms: { after: 0, ttl: 86_400_000, poll: 1000, retries: 0 },
  who: { taskId: 'sealed', session: undefined },
}

test.each([
  ['of release 0.1', {}],
  ['with members that are not known', { later: { than: 'this' } }],
])('a task is started and cancelled by a Worker %s', async (_, more) => {
  const name = crypto.randomUUID()
  const task = namespace.getByName(`task ${name}`)
  const { call, terms, who } = release01
  const started = await task.start({ ...call, ...more }, { ...terms, ...more }, { name, ...who, ...more }, {}, false)
  expect(started).toMatchObject({ task: { taskId: 'sealed', status: 'working', ttl: 86_400_000 } })
  expect(await task.get()).toMatchObject({ taskId: 'sealed' })
  expect(await task.cancel()).toMatchObject({ task: { status: 'cancelled' } })
})
