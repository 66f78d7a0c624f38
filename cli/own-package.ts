import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

type OwnPackage = { version: string; dependencies: Versions; devDependencies: Versions }
type Versions = Readonly<Record<string, string>>

/** The package.json this was published with: it knows the versions that all of it was tested with. */
export function ownPackage(): OwnPackage {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}
