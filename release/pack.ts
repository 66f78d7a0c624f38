/** What the scripts of this folder have in common. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

export type Packed = {
  /** The path of the tarball. */
  readonly file: string
  readonly unpackedSize: number
  readonly entryCount: number
}

/** Packs a package as npm would publish it. @param into a folder @throws Error with what the build prints, if it fails */
export function pack(path: string, into: string): Packed {
  const stdout = execFileSync('npm', ['pack', '--json', '--silent', '--pack-destination', into], {
    cwd: path,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [Omit<Packed, 'file'> & { filename: string }]
  return { ...packed, file: join(into, packed.filename) }
}

/** Ends the process after Ctrl+C as after an error, so that its folders are deleted. */
export function exitOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
}
