/** The size of each Worker with three tools, bundled and minified as for deployment, compressed by gzip. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Folder } from '../folder.ts'
import { bundle } from '../workerd.ts'
import { entryOf, type Participant } from './participants.ts'

/** Bytes after gzip. */
export type Size = { readonly server: string; readonly bare: number; readonly whole: number }

const schemaLibraries = ['zod', 'zod/*', 'valibot', '@valibot/to-json-schema']

export async function bundleSizes(participants: readonly Participant[]): Promise<Size[]> {
  using folder = new Folder()
  const file = join(folder.path, 'worker.js')
  const sizeOf = async (participant: Participant, outside: readonly string[]) => {
    const entry = entryOf(participant, 'stateless')
    if (!entry) throw new Error(`${participant.name} has no server`)
    await bundle(entry.worker, file, outside)
    return gzipSync(readFileSync(file), { level: 9 }).byteLength
  }
  const sizes: Size[] = []
  for (const participant of participants) {
    const bare = await sizeOf(participant, schemaLibraries)
    sizes.push({ server: participant.name, bare, whole: await sizeOf(participant, []) })
  }
  return sizes
}
