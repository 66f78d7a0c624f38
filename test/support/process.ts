/** A server in a process of its own, restarted on the same port with the same data, and ended by `kill -9`. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')

export type ServerProcess = {
  readonly url: URL
  /** Resolves when the server responds. */
  start(): Promise<void>
  /** Sends a line to the process. Resolves when the server is ready again. */
  tell(line: string): Promise<void>
  /** Kills all processes that were started. Resolves when none is left. */
  kill(): Promise<void>
} & AsyncDisposable

/**
 * The server is not started yet.
 *
 * @param command a script, relative to the root, and its arguments. It prints `ready` when it responds
 */
export async function serverProcess(
  command: (where: { port: string; data: string }) => readonly string[],
): Promise<ServerProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'edgemcp-process-'))
  const [data, temporary] = [join(folder, 'data'), join(folder, 'tmp')]
  mkdirSync(temporary)
  const port = await freePort()
  let child: ChildProcess | undefined
  let isReady: () => Promise<boolean>
  // No process may outlive this one, however it ends.
  const end = () => {
    if (child?.pid) killGroup(child.pid)
    rmSync(folder, { recursive: true, force: true })
  }
  const quit = () => process.exit(1)
  process.on('exit', end).on('SIGINT', quit).on('SIGTERM', quit)

  const server: ServerProcess = {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    async start() {
      const started = spawn(process.execPath, command({ port: String(port), data }), {
        cwd: root,
        // A separate process group, so that all of it can be killed.
        detached: true,
        // A killed process does not delete its temporary files.
        env: { ...process.env, TMPDIR: temporary },
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      child = started
      let errors = ''
      started.stderr.on('data', (chunk) => {
        errors += chunk
      })
      const lines = createInterface({ input: started.stdout })
      const failed = once(started, 'close').then(() => false)
      isReady = () => Promise.race([once(lines, 'line').then(([line]) => /^ready\b/.test(line)), failed])
      if (!(await isReady())) throw new Error(`The server did not start:\n${errors}`)
    },
    async tell(line) {
      const ready = isReady()
      child?.stdin?.write(`${line}\n`)
      if (!(await ready)) throw new Error(`The server is not ready after ${line}`)
    },
    async kill() {
      if (!child?.pid) return
      const { pid, exitCode } = child
      const closed = exitCode === null && once(child, 'close')
      killGroup(pid)
      child = undefined
      await closed
      // Children of a killed process do not report their end.
      while ((await livingMembers(pid)).length > 0) await new Promise((resolve) => setTimeout(resolve, 10))
      await expectSilence(port)
    },
    async [Symbol.asyncDispose]() {
      await server.kill()
      process.off('exit', end).off('SIGINT', quit).off('SIGTERM', quit)
      end()
    },
  }
  return server
}

/** @param example an argument of `npm run example`: a folder, relative to examples/ */
export const exampleProcess = (example: string): Promise<ServerProcess> =>
  serverProcess(({ port, data }) => ['scripts/start.ts', example, '--port', port, '--data', data])

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // No process is left.
  }
}

/** Processes of a group, without zombies. */
async function livingMembers(group: number): Promise<number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,pgid=,stat='])
  return stdout.split('\n').flatMap((line) => {
    const [pid, of, state = ''] = line.trim().split(/\s+/)
    return Number(of) === group && !state.startsWith('Z') ? [Number(pid)] : []
  })
}

/** An older process that left its group would respond in place of the next one. */
async function expectSilence(port: number): Promise<void> {
  const answered = await fetch(`http://127.0.0.1:${port}/`).then(
    () => true,
    () => false,
  )
  if (answered) throw new Error('Something still answers after everything was killed')
}
