/**
 * Raises the versions: `npm run release:version`. The changesets in .changeset/ say by how much and become a part of CHANGELOG.md. `create-edgemcp` has
 * the version of `edgemcp`, and depends on exactly that.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { install } from '../bench/install.ts'

const changesets = resolve(import.meta.dirname, 'node_modules/@changesets/cli/bin.js')

type Json = { readonly packages?: Readonly<Record<string, object>> }

/** @param root of the repository, or of a clone */
export function version(root: string): void {
  install(import.meta.dirname)
  execFileSync(process.execPath, [changesets, 'version'], { cwd: root, stdio: 'inherit' })
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const change = (path: string, edit: (json: Json) => Json) => {
    const file = join(root, path)
    writeFileSync(file, `${JSON.stringify(edit(JSON.parse(readFileSync(file, 'utf8'))), null, 2)}\n`)
  }
  change('create-edgemcp/package.json', (manifest) => ({ ...manifest, version, dependencies: { edgemcp: version } }))
  change('package-lock.json', (lock) => ({
    ...lock,
    version,
    packages: { ...lock.packages, '': { ...lock.packages?.[''], version } },
  }))
}

if (import.meta.main) version(resolve(import.meta.dirname, '..'))
