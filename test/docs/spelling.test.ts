/** Docs, comments, names and messages are in American English. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './pages.ts'

const british =
  /(behaviour|colour|honour(?!able)|favour|neighbour|\bcentre|catalogue|licence|organis|authoris|recognis|(?<!ascii-)serialis|initialis|normalis|summaris|optimis|\banalyse|\bgrey\b|whilst)\w*/gi

const folders = [
  'README.md',
  'AGENTS.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'docs',
  'examples',
  'cli',
  'create-edgemcp',
  'inspector',
  'worker',
  'durable-objects',
  'site',
]

test('no British spelling in what users and contributors read', () => {
  const files = execFileSync('git', ['ls-files', ...folders], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => /\.(md|ts|mjs|css|html|toml)$/.test(file) && !file.endsWith('/assets.ts'))
  expect(files.length).toBeGreaterThan(300)
  const found = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => Array.from(line.matchAll(british), ([word]) => `${file}:${index + 1} ${word}`)),
  )
  expect(found).toEqual([])
})
