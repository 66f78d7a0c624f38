import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'

const memory = '/dev/shm'
const enough = 4e9

/**
 * Data of tests is temporary, including that of Durable Objects. If memory has room for it, this process and its
 * children store it there instead of on a disk.
 */
export function writeInMemory(): void {
  if (process.env.TMPDIR || !existsSync(memory)) return
  const { bavail, bsize } = statfsSync(memory)
  if (bavail * bsize < enough) return
  const folder = mkdtempSync(join(memory, 'edgemcp-'))
  process.env.TMPDIR = folder
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
}
