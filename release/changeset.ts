/**
 * Fails for a change of the API since the last release that no changeset describes: `npm run release:changeset`. The code blocks of
 * docs/reference/api/ are the API of each entry point; a test keeps these pages up to date. A release is a tag `v<version>`.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const pages = 'docs/reference/api'

export type ApiChanges = {
  /** The tag of the last release; `undefined`: nothing is released. */
  readonly release: string | undefined
  /** Pages whose signatures differ from the release. */
  readonly changed: readonly string[]
  /** Files that describe the changes of the next release. */
  readonly changesets: readonly string[]
}

/** @param root of a git repository with all tags */
export function apiChangesIn(root: string): ApiChanges {
  const git = (...params: string[]) =>
    // A prerelease comes before its release.
    execFileSync('git', ['-c', 'versionsort.suffix=-', ...params], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  const tags = git('tag', '--list', 'v*', '--sort=-v:refname', '--merged', 'HEAD').split('\n')
  const release = tags.find((tag) => /^v\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(tag))
  const changesets = readdirSync(join(root, '.changeset')).filter(
    (name) => name.endsWith('.md') && isChangeset(readFileSync(join(root, '.changeset', name), 'utf8')),
  )
  if (release === undefined) return { release, changed: [], changesets }
  const files = git('diff', '--name-only', '--no-renames', release, '--', pages).split('\n').filter(Boolean)
  const before = (path: string) => {
    try {
      return git('show', `${release}:${path}`)
    } catch {
      return ''
    }
  }
  const now = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '')
  return {
    release,
    changed: files.filter((path) => signaturesIn(before(path)) !== signaturesIn(now(path))),
    changesets,
  }
}

/** Whether a text says how the version rises, and why. */
const isChangeset = (text: string): boolean =>
  /^---\r?\n(?:.*\r?\n)*?['"]?edgemcp['"]?: (?:patch|minor|major)\r?\n(?:.*\r?\n)*?---\r?\n\s*\S/.test(text)

/** Returns the code blocks of a page: the words between them may change at any time. */
const signaturesIn = (page: string): string => page.match(/^```typescript\n[\s\S]*?^```$/gm)?.join('\n') ?? ''

if (import.meta.main) {
  const { release, changed, changesets } = apiChangesIn(resolve(import.meta.dirname, '..'))
  if (release === undefined) console.log('Nothing is released, so no change needs a changeset.')
  else if (changed.length === 0) console.log(`The API is that of ${release}.`)
  else if (changesets.length > 0)
    console.log(`The API differs from ${release}, and .changeset/ has ${changesets.join(', ')}.`)
  else {
    console.error(`The API differs from ${release}, and no file in .changeset/ says how:`)
    for (const path of changed) console.error(`  ${path}`)
    console.error('Describe the change for users, in a file like .changeset/add-rates.md with')
    console.error('---\nedgemcp: minor\n---\n\nAdd `rates` to `rateLimit()`.')
    process.exitCode = 1
  }
}
