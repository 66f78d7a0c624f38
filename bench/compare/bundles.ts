/** What there is to load: the Worker with three tools, bundled and minified as for deployment, compressed by gzip. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { bundle } from '../workerd.ts'
import { entryOf, type Participant } from './participants.ts'

/** Bytes after gzip. */
export type Size = { readonly server: string; readonly bare: number; readonly whole: number }

const schemaLibraries = ['zod', 'zod/*', 'valibot', '@valibot/to-json-schema']

export async function bundleSizes(participants: readonly Participant[]): Promise<Size[]> {
  const folder = mkdtempSync(join(tmpdir(), 'edgemcp-bench-'))
  const file = join(folder, 'worker.js')
  const sizeOf = async (participant: Participant, outside: readonly string[]) => {
    const entry = entryOf(participant, 'stateless')
    if (!entry) throw new Error(`${participant.name} has no server`)
    await bundle(entry.worker, file, outside)
    return gzipSync(readFileSync(file), { level: 9 }).byteLength
  }
  try {
    const sizes: Size[] = []
    for (const participant of participants) {
      const bare = await sizeOf(participant, schemaLibraries)
      sizes.push({ server: participant.name, bare, whole: await sizeOf(participant, []) })
    }
    return sizes
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
