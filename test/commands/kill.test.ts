import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, test } from 'vitest'
import { events } from '../../worker/testing/wire.ts'
import { freePort } from '../support/free-port.ts'

const root = resolve(import.meta.dirname, '../..')
const data = mkdtempSync(join(tmpdir(), 'edgemcp-kill-'))
let child: ChildProcess | undefined
afterAll(() => {
  kill()
  rmSync(data, { recursive: true, force: true })
})

/** Ends the process and everything it started, at once. */
function kill(): void {
  if (child?.pid) process.kill(-child.pid, 'SIGKILL')
  child = undefined
}

async function start(port: number): Promise<string> {
  child = spawn(process.execPath, ['scripts/start.ts', 'confirm', '--port', String(port), '--data', data], {
    cwd: root,
    // A process group of its own, to be killed as one.
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const [line] = await once(lines, 'line')
  expect(line).toContain('ready on ')
  return `http://127.0.0.1:${port}/mcp`
}

test('a conversation goes on where it was when the whole process is killed between any two of its rounds', async () => {
  const port = await freePort()
  let url = await start(port)
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  }
  const post = (message: object) =>
    fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) })
  const opened = await post({
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: {} },
      clientInfo: { name: 'test', version: '1' },
    },
  })
  headers['Mcp-Session-Id'] = opened.headers.get('Mcp-Session-Id') as string

  const call = { id: 2, method: 'tools/call', params: { name: 'transfer', arguments: { to: 'Ada', amount: 5 } } }
  let stream = events(await post(call))
  const seen: string[] = []
  let lastId = ''
  async function next(): Promise<{ id?: unknown; method?: string; result?: { content: { text: string }[] } }> {
    for (;;) {
      const { value } = await stream.next()
      if (!value) throw new Error('The stream ended')
      lastId = value.id ?? lastId
      if (value.id && value.data) seen.push(value.id)
      if (value.data) return JSON.parse(value.data)
    }
  }
  async function restart(): Promise<void> {
    kill()
    await stream.return(undefined).catch(() => {})
    url = await start(port)
    stream = events(await fetch(url, { headers: { ...headers, 'Last-Event-ID': lastId } }))
  }

  for (const content of [{ sure: true }, { note: 'rent' }]) {
    const question = await next()
    expect(question.method).toBe('elicitation/create')
    await restart()
    expect((await post({ id: question.id, result: { action: 'accept', content } })).status).toBe(202)
  }
  const { result } = await next()
  expect(result?.content[0]?.text).toMatch(/^Transferred 5 to Ada, receipt [\da-f-]{36} \(rent\)\.$/)
  // Each event once, and in order, over three connections to three processes.
  expect(seen).toEqual(['1.1', '1.2', '1.3'])
}, 120_000)
