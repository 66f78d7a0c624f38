import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { SourceMap } from 'node:module'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Answers, connect, type TestClient } from '../../worker/testing/index.ts'
import { sample } from '../support/full.ts'
import { startWithWrangler, type TestServer } from '../support/server.ts'

/** A warning, its lines as they are in the sources. */
type Warning = { text: string; at: string[] }

const accept = { action: 'accept', content: { sure: true } }
const answers: Answers = {
  elicit: () => accept,
  sample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'Well.' } }),
  roots: () => ({ roots: [] }),
}
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

/** What handlers call. Whoever comes to /gate waits until it is opened. */
const outside = createServer((request, response) => {
  if (request.url !== '/gate') return void response.end('"there"')
  waiting.push(() => response.end('"open"'))
  arrived()
})
const waiting: (() => void)[] = []
let arrived = () => {}
let away: string

beforeAll(async () => {
  // Otherwise it would be `test`: the servers of all other tests are as deployed.
  vi.stubEnv('NODE_ENV', 'development')
  await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve))
  away = `http://127.0.0.1:${(outside.address() as AddressInfo).port}/`
})
afterAll(() => outside.close())

const gate = () => new Promise<void>((resolve) => (arrived = resolve))
const openGate = () => {
  for (const open of waiting.splice(0)) open()
}

const fix = (call: string, key = /(\w+)\(…\)$/.exec(call)?.[1]) => `write await ctx.once('${key}', () => ${call})`
const sentence = (owner: string, call: string, question: string) =>
  `The ${owner} calls ${call} ${question}, so it happens again with the answer: ${fix(call)}`
const fetchSentence = (owner: string) =>
  `The ${owner} calls fetch(…) before the input request "sure", so it happens again with the answer: ` +
  "write await ctx.once('fetch', async () => (await fetch(…)).json())"

const sessions = '2025-11-25'
const stateless = '2026-07-28'
// In `npm test` each folder once and each revision once.
const platforms = [
  { whose: 'AsyncLocalStorage identifies the call', folder: 'effects', revisions: sample([sessions, stateless], 2) },
  { whose: 'stack traces identify the call', folder: 'effects-by-stack', revisions: sample([stateless, sessions], 2) },
]
describe.each(platforms)('effects before an input request, in a Worker where $whose', ({ folder, revisions }) => {
  describe.each(revisions)('for a client of %s', (revision) => {
    let server: TestServer
    let client: TestClient
    let looked: unknown

    beforeAll(async () => {
      server = await startWithWrangler(`test/development/${folder}`)
      looked = await look()
      client = await connect(server.url, { revision, answers, capabilities })
    })
    afterAll(async () => {
      await client?.close()
      await server?.[Symbol.asyncDispose]()
    })

    /** How what is replaced looks, and how it fails. */
    const look = async () => (await fetch(new URL('/look', server.url))).json()

    /** Everything that was printed by the work so far. */
    async function printed(): Promise<Warning[]> {
      const text = crypto.randomUUID()
      await client.callTool('say', { text })
      const logs = () => server.harness.getLogs()
      // Whatever was printed before this comes before it.
      await vi.waitFor(() => expect(logs().some(({ message }) => message === text)).toBe(true))
      const warnings = logs().filter(({ level }) => level === 'warn' || level === 'error')
      server.harness.clearLogs()
      return warnings.map(({ message }) => {
        const [first = '', ...lines] = message.split('\n')
        return { text: first, at: lines.map(sourceLine) }
      })
    }

    async function warningsOf(tool: string, url = away): Promise<Warning[]> {
      const { tools } = await client.request('tools/list', {})
      const declared = (tools as { name: string; inputSchema: object }[]).find(({ name }) => name === tool)
      const takesUrl = declared !== undefined && 'properties' in declared.inputSchema
      const result = await client.callTool(tool, takesUrl ? { url } : {})
      expect(result).toMatchObject({ content: [{ text: 'done' }] })
      return printed()
    }

    test('replaced functions have the same properties and errors as the originals', async () => {
      await client.callTool('never_asks', { url: away })
      expect(await look()).toEqual(looked)
      await printed()
    })

    test('warns once of a call before an input request, with its line, the request and the fix', async () => {
      const warning = { text: fetchSentence('tool "fetch_first"'), at: ['index.ts: await fetch(url)'] }
      expect(await warningsOf('fetch_first')).toEqual([warning])
      expect(await warningsOf('fetch_first')).toEqual([])
    })

    test('reports a call inside a function with the line in the handler as well', async () => {
      expect(await warningsOf('through_another')).toEqual([
        {
          text: fetchSentence('tool "through_another"'),
          at: ['index.ts: const response = await fetch(url)', 'index.ts: await Promise.all([load(url)])'],
        },
      ])
    })

    test('reports writes through every binding', async () => {
      const told = await warningsOf('write_everywhere')
      const calls = [
        'env.NOTES.put(…)',
        'env.NOTES.delete(…)',
        'env.FILES.put(…)',
        'env.FILES.delete(…)',
        'env.DB.exec(…)',
        'env.DB.prepare(…).run(…)',
        'env.DB.prepare(…).all(…)',
        'env.DB.batch(…)',
        'env.DB.withSession().batch(…)',
        'env.MAIL.send(…)',
        'env.MAIL.sendBatch(…)',
        'cache.put(…)',
        'cache.delete(…)',
      ]
      const texts = calls.map((call) => sentence('tool "write_everywhere"', call, 'before the input request "sure"'))
      expect(told.map(({ text }) => text)).toEqual(texts)
      for (const [index, call] of calls.entries()) {
        const [owner = '', method = ''] = call
          .replace('cache.', 'caches.default.')
          .split(/\(…\)\.(?=\w+\(…\)$)|\.(?=\w+\(…\)$)/)
        expect(told[index]?.at).toHaveLength(1)
        expect(told[index]?.at[0]).toContain(`index.ts: await ${owner}`)
        expect(told[index]?.at[0]).toContain(`.${method.replace('…)', '')}`)
      }
    })

    test('reports writes to a state', async () => {
      const [put, ...rest] = await warningsOf('write_state')
      const text = (call: string) => sentence('tool "write_state"', call, 'before the input request "sure"')
      expect(put).toEqual({ text: text('ctx.state(…).put(…)'), at: ["index.ts: await mine.put('a', 1)"] })
      expect(rest).toEqual([{ text: text('ctx.state(…).delete(…)'), at: ["index.ts: await mine.delete('a')"] }])
      expect(await warningsOf('forget')).toEqual([
        {
          text: sentence('tool "forget"', 'ctx.state(…).deleteAll(…)', 'before the input request "sure"'),
          at: ['index.ts: await counted.deleteAll()'],
        },
      ])
    })

    test('reports a write between two input requests, and none after the last one', async () => {
      expect(await warningsOf('between')).toEqual([
        {
          text: sentence('tool "between"', 'env.NOTES.put(…)', 'before the input request "second"'),
          at: ["index.ts: await env.NOTES.put('between', url)"],
        },
      ])
    })

    test('reports a write beside an input request', async () => {
      const [{ text } = { text: '' }, ...rest] = await warningsOf('beside')
      expect(text).toBe(sentence('tool "beside"', 'env.NOTES.put(…)', 'beside the input request "sure"'))
      expect(rest).toEqual([])
    })

    // Without a session the rest of a handler is cut off when its question has been sent; a stack shows only what is awaited.
    test.runIf(revision === '2025-11-25' && folder === 'effects')(
      'reports a write after an input request was sent',
      async () => {
        const isTold = () =>
          server.harness.getLogs().some(({ message }) => message.includes('"late" calls env.NOTES.put(…)'))
        const here = gate()
        const elicit = async () => {
          await here
          openGate()
          await vi.waitFor(() => expect(isTold()).toBe(true))
          const again = gate()
          again.then(openGate)
          return accept
        }
        await using asked = await connect(server.url, { revision, answers: { elicit } })
        await asked.callTool('late', { url: `${away}gate` })
        const beside = (call: string) => expect.stringContaining(`"late" calls ${call} beside the input request "sure"`)
        expect((await printed()).map(({ text }) => text)).toEqual([beside('fetch(…)'), beside('env.NOTES.put(…)')])
      },
    )

    test('reports a write in a timer when the call of the timer is known', async () => {
      const told = (await warningsOf('in_a_timer')).map(({ text }) => text)
      const text = sentence('tool "in_a_timer"', 'env.NOTES.put(…)', 'before the input request "sure"')
      expect(told).toEqual(folder === 'effects' ? [text] : [])
    })

    test.each([
      ['ask_for_page', 'page'],
      ['ask_model', 'model'],
      ['ask_roots', 'roots'],
      ['ask_raw', 'one", "two'],
    ])('%s: reports a write before every type of input request', async (tool, question) => {
      const [{ text, at } = { text: '', at: [] }, ...rest] = await warningsOf(tool)
      expect(text).toBe(sentence(`tool "${tool}"`, 'env.NOTES.put(…)', `before the input request "${question}"`))
      expect(at).toEqual([expect.stringContaining('index.ts: await env.NOTES.put(')])
      expect(rest).toEqual([])
    })

    test('reports a write after an input request without await, and names the missing await', async () => {
      const texts = () => server.harness.getLogs().map(({ message }) => message)
      await expect(client.callTool('unawaited')).rejects.toThrow('write await ctx.elicit("sure", …)')
      const text =
        'The tool "unawaited" calls env.NOTES.put(…) without awaiting the input request "sure", so it happens before the answer: ' +
        'await the input request first'
      await expect.poll(() => texts()).toContainEqual(expect.stringContaining(text))
      expect(texts().filter((text) => text.includes('ctx.once'))).toEqual([])
      server.harness.clearLogs()
    })

    test('reports writes of prompts and resources', async () => {
      await client.request('prompts/get', { name: 'prompted', arguments: { url: away } })
      await client.request('resources/read', { uri: 'effects://one/7' })
      const put = sentence('resource "effects://one/{id}"', 'env.NOTES.put(…)', 'before the input request "sure"')
      expect((await printed()).map(({ text }) => text)).toEqual([fetchSentence('prompt "prompted"'), put])
    })

    test.each(['once', 'after', 'never_asks', 'reads', 'raw_and_careful', 'looked_at', 'ask_the_desk'])(
      '%s: reports no effect that is not repeated, or that is outside of the handler',
      async (tool) => {
        expect(await warningsOf(tool)).toEqual([])
      },
    )

    test('no warning for a client that supports no input requests, until one does', async () => {
      await using silent = await connect(server.url, { revision, answers: {} })
      const { content } = await silent.callTool('may_ask', { url: away })
      expect(content).toEqual([{ type: 'text', text: 'not asked' }])
      expect(await printed()).toEqual([])
      await client.callTool('may_ask', { url: away })
      expect((await printed()).map(({ text }) => text)).toEqual([fetchSentence('tool "may_ask"')])
    })

    test('does not report concurrent effects of other calls', async () => {
      const here = gate()
      const call = client.callTool('waits', { url: `${away}gate` })
      await here
      const other = await fetch(new URL(`/other?url=${encodeURIComponent(away)}`, server.url))
      expect(await other.text()).toBe('written')
      await client.callTool('never_asks', { url: away })
      openGate()
      expect(await call).toMatchObject({ content: [{ text: 'done' }] })
      expect(await printed()).toEqual([])
    })
  })
})

/** A line of a stack in the bundle, as it is written in the source: `file: line`. */
function sourceLine(frame: string): string {
  const [, url, line, column] = /\(?(file:.*):(\d+):(\d+)\)?$/.exec(frame) ?? []
  if (!url) throw new Error(`This is no place: ${frame}`)
  const map = new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')))
  const origin = map.findOrigin(Number(line), Number(column)) as { fileName: string; lineNumber: number }
  const path = fileURLToPath(new URL(origin.fileName, url))
  const text = readFileSync(path, 'utf8').split('\n')[origin.lineNumber - 1] ?? ''
  return `${path.split('/').at(-1)}: ${text.trim()}`
}
