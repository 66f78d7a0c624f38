/** A change of the API since the last release, and the changeset that describes it. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { apiChangesIn } from '../../release/changeset.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'edgemcp-changeset-'))
  git('init', '--quiet')
  write('.changeset/config.json', '{}')
  write('docs/reference/api/state.md', page('function state(name: string): State', 'Declares state.'))
  write('docs/reference/api/tasks.md', page('function tasks(): Plugin', 'Runs tasks.'))
  commit()
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const git = (...params: string[]) => execFileSync('git', params, { cwd: root, stdio: 'ignore' })
const page = (signature: string, words: string) => `# Page\n\n${words}\n\n\`\`\`typescript\n${signature}\n\`\`\`\n`

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
  git('add', '--all')
}

function commit(): void {
  git('add', '--all')
  git('-c', 'user.name=test', '-c', 'user.email=test@example.com', 'commit', '--quiet', '--message', 'change')
}

test('before the first release, no change needs a changeset', () => {
  write('docs/reference/api/state.md', page('function state(): State', 'Declares state.'))
  expect(apiChangesIn(root)).toEqual({ release: undefined, changed: [], changesets: [] })
})

test.each([
  ['a signature that changes', 'docs/reference/api/state.md', page('function state(): State', 'Declares state.')],
  ['an entry point that is new', 'docs/reference/api/events.md', page('function events(): Plugin', 'Sends events.')],
  ['an entry point that is gone', 'docs/reference/api/tasks.md', ''],
])('%s is a change of the API, committed or not', (_, path, text) => {
  for (const tag of ['v0.9.0', 'v0.10.0-rc.1', 'v0.10.0', 'vnext']) git('tag', tag)
  if (text) write(path, text)
  else rmSync(join(root, path))
  const changes = { release: 'v0.10.0', changed: [path], changesets: [] }
  expect(apiChangesIn(root)).toEqual(changes)
  commit()
  expect(apiChangesIn(root)).toEqual(changes)
  for (const [index, text] of [
    '',
    'hello',
    '---\nnope: minor\n---\n\nChange.\n',
    '---\nedgemcp: minor\n---\n',
  ].entries()) {
    write(`.changeset/${index}.md`, text)
  }
  expect(apiChangesIn(root)).toEqual(changes)
  write('.changeset/change.md', '---\nedgemcp: minor\n---\n\nChange it.\n')
  expect(apiChangesIn(root)).toEqual({ ...changes, changesets: ['change.md'] })
})

test('other words about the same API are no change of it', () => {
  git('tag', 'v1.0.0')
  write(
    'docs/reference/api/state.md',
    page('function state(name: string): State', 'Declares state that outlives a call.'),
  )
  commit()
  expect(apiChangesIn(root)).toEqual({ release: 'v1.0.0', changed: [], changesets: [] })
})
