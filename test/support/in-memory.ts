import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'

const memory = '/dev/shm'
const enough = 4e9

/**
 * What tests write is thrown away, what Durable Objects store among it: where memory has room for it, from now on this
 * process and its children wait for no disk.
 */
export function writeInMemory(): void {
  if (process.env.TMPDIR || !existsSync(memory)) return
  const { bavail, bsize } = statfsSync(memory)
  if (bavail * bsize < enough) return
  const folder = mkdtempSync(join(memory, 'edgemcp-'))
  process.env.TMPDIR = folder
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
}
