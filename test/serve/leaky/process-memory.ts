/** How much memory the Workers runtime takes, as Linux tells it. */
import { readdirSync, readFileSync } from 'node:fs'

/** The runtimes that this process has started. */
export function runtimes(): number[] {
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))
  return pids.map(Number).filter((pid) => {
    const status = statusOf(pid)
    return status.get('PPid') === String(process.pid) && status.get('Name') === 'workerd'
  })
}

/** Megabytes, now and at most so far. */
export function memoryOf(pid: number): { now: number; most: number } {
  const status = statusOf(pid)
  const megabytes = (key: string) => Number.parseInt(status.get(key) ?? '', 10) / 1024
  return { now: megabytes('VmRSS'), most: megabytes('VmHWM') }
}

function statusOf(pid: number): Map<string, string> {
  try {
    const lines = readFileSync(`/proc/${pid}/status`, 'utf8').trim().split('\n')
    return new Map(lines.map((line) => line.split(':\t', 2) as [string, string]))
  } catch {
    // It has ended meanwhile.
    return new Map()
  }
}
