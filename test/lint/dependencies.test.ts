/** What the lock files say of the packages that this repository and its users install. */
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

type LockFile = {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly deprecated?: string }>>
}

// npm writes `deprecated` into the entry of a package when it resolves its version.
test.each(globSync('{,bench/,site/}package-lock.json', { cwd: root }))('%s has no deprecated package', (file) => {
  const { packages }: LockFile = JSON.parse(readFileSync(join(root, file), 'utf8'))
  const deprecated = Object.entries(packages)
    .filter(([, { deprecated }]) => deprecated !== undefined)
    .map(([path, { version, deprecated }]) => `${path} ${version}: ${deprecated}`)
  expect(deprecated).toEqual([])
})
