/** What the Workers runtime below this process takes, over time. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { memoryOf } from '../leaky/process-memory.ts'

export type Sample = {
  /** Minutes. */
  at: number
  megabytes: number
  /** Files and connections that are open. */
  descriptors: number
}

export function sample(): Sample {
  const all = runtimesBelow(process.pid).map((pid) => ({ pid, open: openIn(pid) }))
  // Another one hands requests on to it, and has no objects.
  const objectsOf = ({ open }: { open: string[] }) => open.filter((path) => path.endsWith('.sqlite')).length
  const [runtime] = all.sort((one, other) => objectsOf(other) - objectsOf(one))
  if (!runtime) throw new Error('There is no Workers runtime')
  return { at: performance.now() / 60_000, megabytes: memoryOf(runtime.pid).now, descriptors: runtime.open.length }
}

/** The files and connections that a process has open. */
function openIn(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${descriptor}`)]
    } catch {
      // It has been closed meanwhile.
      return []
    }
  })
}

/** Megabytes a minute, by least squares. */
export function slopeOf(samples: readonly Sample[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [time, size] = [mean(samples.map(({ at }) => at)), mean(samples.map(({ megabytes }) => megabytes))]
  const over = samples.reduce((sum, { at, megabytes }) => sum + (at - time) * (megabytes - size), 0)
  return over / samples.reduce((sum, { at }) => sum + (at - time) ** 2, 0)
}

function runtimesBelow(ancestor: number): number[] {
  const parents = new Map<number, number>()
  const runtimes: number[] = []
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      // The name stands in parentheses, and may have any character in it.
      const [, name, parent] = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${entry}/stat`, 'utf8')) ?? []
      parents.set(Number(entry), Number(parent))
      if (name === 'workerd') runtimes.push(Number(entry))
    } catch {
      // It has ended meanwhile.
    }
  }
  const isBelow = (pid: number | undefined): boolean => pid === ancestor || (!!pid && isBelow(parents.get(pid)))
  return runtimes.filter(isBelow)
}
