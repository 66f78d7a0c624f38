import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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
