import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

type OwnPackage = { version: string; dependencies: Versions; devDependencies: Versions }
type Versions = Readonly<Record<string, string>>

/** Where this package is, as it was published or as it is worked on. */
export function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return folder
}

/** The package.json this was published with: it knows the versions that all of it was tested with. */
export const ownPackage = (): OwnPackage => JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8'))
