import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

type OwnPackage = { version: string; dependencies: Versions; devDependencies: Versions }
type Versions = Readonly<Record<string, string>>

/** The folder of this package, published or in the repository. */
export function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return folder
}

/** The package.json of this package, with the versions that it is tested with. */
export const ownPackage = (): OwnPackage => JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8'))

/**
 * What a project writes to depend on this package: its version, or the tarball, folder or repository that npm installed it from. npm notes
 * that in `node_modules/.package-lock.json`.
 */
export function ownSpec(folder = packageFolder()): string {
  const modules = dirname(folder)
  const lock = join(modules, '.package-lock.json')
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  if (basename(modules) !== 'node_modules' || !existsSync(lock)) return version
  const { resolved = '' } = JSON.parse(readFileSync(lock, 'utf8')).packages?.['node_modules/edgemcp'] ?? {}
  if (resolved.startsWith('file:')) return `file:${resolve(dirname(modules), resolved.slice('file:'.length))}`
  return resolved.startsWith('git') ? resolved : version
}
