/** Runs the command line in this process: a process for each case would compile it again. */
import { format } from 'node:util'
import { vi } from 'vitest'
import { main } from '../../cli/main.ts'

export type Ended = { code: number; stdout: string; stderr: string }

/** The working directory and the console belong to one run at a time. */
let last: Promise<unknown> = Promise.resolve()

/** @param cwd the working directory of the command */
export function runHere(args: readonly string[], cwd: string): Promise<Ended> {
  const ended = last.then(() => run(args, cwd))
  last = ended.catch(() => {})
  return ended
}

async function run(args: readonly string[], cwd: string): Promise<Ended> {
  let [stdout, stderr] = ['', '']
  const before = process.cwd()
  const spies = [
    vi.spyOn(console, 'log').mockImplementation((...parts) => {
      stdout += `${format(...parts)}\n`
    }),
    vi.spyOn(console, 'error').mockImplementation((...parts) => {
      stderr += `${format(...parts)}\n`
    }),
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      stdout += text
      return true
    }),
  ]
  process.chdir(cwd)
  try {
    return { code: await main(args), stdout, stderr: stderr.trim() }
  } finally {
    process.chdir(before)
    for (const spy of spies) spy.mockRestore()
  }
}
