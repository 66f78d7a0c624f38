/** A server in processes of its own, one after another on the same port and the same data, each ended by `kill -9`. */
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
  /** Resolves when it answers. */
  start(): Promise<void>
  /** Gives the process a line to read. Resolves when it is ready again. */
  tell(line: string): Promise<void>
  /** Kills everything that was started, at once. Resolves when nothing of it is left. */
  kill(): Promise<void>
} & AsyncDisposable

/**
 * It is not started yet.
 *
 * @param command a script, seen from the root, and its arguments; it says `ready` when it answers
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
  // Nothing may outlive this process either, however it ends.
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
        // A process group of its own, to be killed as one.
        detached: true,
        // What is killed does not clear its temporary files away.
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
      // What the killed process had started tells nobody of its end.
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

/** @param example as `npm run example` takes it: a folder, seen from examples/ */
export const exampleProcess = (example: string): Promise<ServerProcess> =>
  serverProcess(({ port, data }) => ['scripts/start.ts', example, '--port', port, '--data', data])

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nobody is left.
  }
}

/** Processes of a group that are more than an entry in a table. */
async function livingMembers(group: number): Promise<number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,pgid=,stat='])
  return stdout.split('\n').flatMap((line) => {
    const [pid, of, state = ''] = line.trim().split(/\s+/)
    return Number(of) === group && !state.startsWith('Z') ? [Number(pid)] : []
  })
}

/** An older process that had escaped its group would answer in the place of the next one. */
async function expectSilence(port: number): Promise<void> {
  const answered = await fetch(`http://127.0.0.1:${port}/`).then(
    () => true,
    () => false,
  )
  if (answered) throw new Error('Something still answers after everything was killed')
}
