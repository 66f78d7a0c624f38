/** An upstream that takes too long. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { newServer, play, refusal, result } from '../engine/stage.ts'
import { nodeProxy } from './node-proxy.ts'
import { type ScriptedRequest, scripted } from './scripted.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } })
const hang = ({ signal }: ScriptedRequest) =>
  new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
const after = async (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('an upstream that hangs is left out of lists after listTimeout, and for half a minute at once', async () => {
  const good = scripted({ 'tools/list': { tools: [tool('good')] } })
  const hanging = scripted({ 'tools/list': hang })
  const server = newServer()
  server.use(nodeProxy('https://good.example/mcp', good.fetch))
  server.use(nodeProxy('https://hanging.example/mcp', hanging.fetch, { listTimeoutMs: 100 }))
  const list = async () => (await result(server, 'tools/list')).tools
  expect(await list()).toMatchObject([{ name: 'good' }])
  expect(await list()).toMatchObject([{ name: 'good' }])
  expect(hanging.asked('tools/list')).toHaveLength(1)
  vi.setSystemTime(Date.now() + 31_000)
  expect(await list()).toMatchObject([{ name: 'good' }])
  expect(hanging.asked('tools/list')).toHaveLength(2)
})

test('an upstream that hangs for one user stays in the lists of the others', async () => {
  let isHanging = true
  const busy = scripted({ 'tools/list': (request) => (isHanging ? hang(request) : { tools: [tool('busy')] }) })
  const server = newServer()
  server.use(nodeProxy('https://busy.example/mcp', busy.fetch, { listTimeoutMs: 100 }))
  const listOf = async (subject: string) => {
    const principal = { issuer: 'https://issuer.example', subject, scopes: [], claims: {} }
    return (await result(server, 'tools/list', {}, { principal })).tools
  }
  expect(await listOf('ada')).toEqual([])
  isHanging = false
  expect(await listOf('ada')).toEqual([])
  expect(await listOf('bob')).toMatchObject([{ name: 'busy' }])
})

test('listTimeout applies to all pages together', async () => {
  const dripping = scripted({
    'tools/list': async ({ params }) => {
      await after(20)
      const page = Number(params.cursor ?? 0)
      return { tools: [tool(`t${page}`)], nextCursor: String(page + 1) }
    },
  })
  const fetch: typeof dripping.fetch = (url, init) => {
    init.signal?.throwIfAborted()
    return dripping.fetch(url, init)
  }
  const server = newServer().use(nodeProxy('https://dripping.example/mcp', fetch, { listTimeoutMs: 150 }))
  const { outcome } = await play(server, 'tools/list', {})
  const { tools } = (outcome.type === 'result' ? outcome.result : {}) as { tools: unknown[] }
  expect(tools.length).toBeLessThan(15)
})

test('timeout applies to all rounds together that send no input request to the client', async () => {
  const again = scripted({
    'tools/call': async () => {
      await after(20)
      return { resultType: 'input_required', requestState: 's' }
    },
  })
  const fetch: typeof again.fetch = (url, init) => {
    init.signal?.throwIfAborted()
    return again.fetch(url, init)
  }
  const server = newServer().use(nodeProxy('https://again.example/mcp', fetch, { timeoutMs: 150 }))
  expect(await refusal(server, 'tools/call', { name: 'x' })).toMatchObject({
    message: 'The server at again.example does not answer',
  })
  expect(again.asked('tools/call').length).toBeLessThan(15)
})
