import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { freePort } from '../support/free-port.ts'

const root = resolve(import.meta.dirname, '../..')
const running = new Set<ChildProcess>()
const folders: string[] = []

afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'edgemcp-'))
  folders.push(folder)
  return folder
}

/** Runs a script of package.json, and reads what it prints. */
function npm(...args: string[]) {
  // npm's own messages are about npm's configuration; what counts is what the script prints.
  const child = spawn('npm', ['--silent', ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  const lines: string[] = []
  const errors: string[] = []
  const first = Promise.withResolvers<string>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    first.resolve(line)
  })
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (!line.startsWith('npm warn')) errors.push(line)
  })
  // Its output closes only when everything that was started has ended.
  const ended = once(child, 'close').then(([code]) => {
    running.delete(child)
    first.resolve(lines[0] ?? errors.join('\n'))
    return code as number
  })
  return { lines, errors, firstLine: first.promise, ended, kill: (signal: NodeJS.Signals) => child.kill(signal) }
}

test('npm start prints its URL and the inspector link, keeps its data, and stops on SIGTERM and SIGINT', async () => {
  const [port, data] = [await freePort(), newFolder()]
  const url = `http://127.0.0.1:${port}/mcp`
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const server = npm('start', '--', '--port', String(port), '--data', data)
    expect(await server.firstLine).toBe(`ready on ${url}`)
    const client = await connect(url, { revision: '2026-07-28' })
    if (signal === 'SIGTERM') await client.callTool('write_note', { id: 'kept', text: '# Kept' })
    const found = await client.callTool('search_notes', { query: 'kept' })
    expect(found.structuredContent).toEqual({ notes: [{ id: 'kept', title: 'Kept' }] })
    server.kill(signal)
    expect(await server.ended).toBe(0)
    const key = expect.stringMatching(/^inspector on http:\/\/127\.0\.0\.1:\d+\/\?inspector=[\w-]{22}$/)
    expect(server.lines).toEqual([`ready on ${url}`, key])
    expect(server.errors).toEqual([])
    await expect(fetch(url)).rejects.toThrow()
  }
})

test('npm run example runs one of the examples', async () => {
  const port = await freePort()
  const server = npm('run', 'example', 'hello', '--', '--port', String(port), '--data', newFolder())
  expect(await server.firstLine).toBe(`ready on http://127.0.0.1:${port}/mcp`)
  const client = await connect(`http://127.0.0.1:${port}/mcp`, { revision: '2025-11-25' })
  expect((await client.callTool('greet', { name: 'Ada' })).content).toEqual([{ type: 'text', text: 'Hello, Ada!' }])
  server.kill('SIGTERM')
  expect(await server.ended).toBe(0)
})

test('invalid arguments are an error message of one line', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  for (const [args, message] of [
    [['nowhere'], 'There is no example "nowhere": choose a folder of examples/.'],
    [['hello', '--', '--port', 'http'], '--port must be a number from 0 to 65535.'],
    [['hello', '--', '--prot', '1'], expect.stringContaining("Unknown option '--prot'")],
    [['hello', '--', '--port', String(port)], `Port ${port} is in use: choose another with --port.`],
  ] as const) {
    const server = npm('run', 'example', ...args)
    expect(await server.ended).toBe(1)
    expect(server.errors).toEqual([message])
    expect(server.lines).toEqual([])
  }
  taken.close()
})
