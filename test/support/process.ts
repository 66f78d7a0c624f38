/** A server in a process of its own, that can be killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from './free-port.ts'

const root = resolve(import.meta.dirname, '../..')

export type ServerProcess = {
  readonly url: URL
  /** Ends the process and everything it started, at once. */
  kill(): void
  /** Starts it again, with the same port and data. */
  start(): Promise<void>
} & Disposable

/** @param example as `npm run example` takes it: a folder, seen from examples/ */
export async function startProcess(example: string): Promise<ServerProcess> {
  const data = mkdtempSync(join(tmpdir(), 'edgemcp-process-'))
  const port = await freePort()
  const args = ['scripts/start.ts', example, '--port', String(port), '--data', data]
  let child: ChildProcess | undefined
  const server: ServerProcess = {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    kill() {
      if (child?.pid) process.kill(-child.pid, 'SIGKILL')
      child = undefined
    },
    async start() {
      child = spawn(process.execPath, args, {
        cwd: root,
        // A process group of its own, to be killed as one.
        detached: true,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
      const [line] = await once(lines, 'line')
      if (!String(line).includes('ready on ')) throw new Error(`It did not start: ${line}`)
    },
    [Symbol.dispose]() {
      server.kill()
      rmSync(data, { recursive: true, force: true })
    },
  }
  await server.start()
  return server
}
